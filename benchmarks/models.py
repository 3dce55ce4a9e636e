"""The models that compare.py and layers.py time, as arguments of `deepgp benchmark` and of the peer programs."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """A layer's inducing inputs (full, decoupled or nested) and the form of its covariance (whitened or diagonal)."""

    sets: str
    covariance_form: str
    covariance_inducing: int | None = None      # where it is not that of the options

    def numbers(self, options):
        """The inducing inputs of mean and covariance."""
        if self.sets == "full":
            return options.inducing, options.inducing
        return options.mean_inducing, self.covariance_inducing or options.covariance_inducing

    def ours(self, options):
        """Arguments of `deepgp benchmark`."""
        mean, covariance = self.numbers(options)
        nested = "true" if self.sets == "nested" else "false"
        inducing = ["--inducing", mean] if self.sets == "full" else \
            [f"--nested={nested}", "--mean-inducing", mean, "--covariance-inducing", covariance]
        return [*inducing, "--covariance-form", self.covariance_form]

    def peer(self, options):
        """Arguments of a peer program. Its decoupled model has the paper's covariance, which is not whitened."""
        mean, covariance = self.numbers(options)
        name = self.sets if self.covariance_form == "whitened" else f"{self.sets}-{self.covariance_form}"
        return ["--model", name, "--M", mean, "--Ma", mean, "--Mb", covariance]


MODELS = {
    "full": Model("full", "whitened"),
    "decoupled": Model("decoupled", "whitened"),
    "nested": Model("nested", "whitened"),
    "nested-diagonal": Model("nested", "diagonal"),
    "nested-diagonal-300": Model("nested", "diagonal", covariance_inducing=300),
}
