"""GPflux (GPflow/TensorFlow) baseline: the full doubly stochastic DGP, whitened, kernel and inducing inputs
shared by a layer's outputs, whole step in one tf.function (no XLA; --xla for jit_compile). Runs with TF_USE_LEGACY_KERAS=1."""
import math
import os

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import peer_common as pc

ap = pc.parser(__doc__)
ap.add_argument("--xla", action="store_true")
top = ap.parse_args()
if top.device == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

import gpflow
import gpflux
import numpy as np
import tensorflow as tf
from gpflux.helpers import construct_basic_inducing_variables, construct_basic_kernel

if top.threads:
    tf.config.threading.set_intra_op_parallelism_threads(top.threads)


def bench(args):
    assert args.model == "full"
    dt = np.float32 if args.dtype == "f32" else np.float64
    gpflow.config.set_default_float(dt)
    gpflow.config.set_default_jitter(args.jitter)
    tf.keras.backend.set_floatx("float32" if args.dtype == "f32" else "float64")
    tf.random.set_seed(args.seed)
    data = pc.load(args)
    N, D = data["X"].shape
    B = min(N, args.batch)
    dims = pc.layer_dims(D, args.hidden, args.width)
    Ws = pc.skip_matrices(data["X"], dims)
    Z = pc.init_inducing(data["X"], args.M, args.zinit, np.random.default_rng(args.seed + 1))
    layers = []
    for i, ((din, dout), W) in enumerate(zip(dims, Ws)):
        kern = gpflow.kernels.SquaredExponential(lengthscales=np.full(din, args.ls_init or math.sqrt(din)), variance=1.0)
        last = i == len(dims) - 1
        mean = gpflow.functions.Zero() if last else (
            gpflow.functions.Identity() if din == dout else gpflow.functions.Linear(A=W.astype(dt), b=np.zeros(dout, dt)))
        if not last and din != dout:
            gpflow.set_trainable(mean, False)
        layer = gpflux.layers.GPLayer(construct_basic_kernel(kern, dout, share_hyperparams=True),
                                      construct_basic_inducing_variables(args.M, din, dout, share_variables=True,
                                                                         z_init=Z.astype(dt)),
                                      num_data=N, num_latent_gps=dout, mean_function=mean, whiten=True)
        layer.q_sqrt.assign(np.tile((1.0 if last else 1e-5) * np.eye(args.M), (dout, 1, 1)))
        layers.append(layer)
        if W is not None:
            Z = Z @ W
    lik = gpflux.layers.LikelihoodLayer(gpflow.likelihoods.Gaussian(args.noise_init))
    model = gpflux.models.DeepGP(layers, lik, num_data=N, default_model_class=tf.keras.Model)
    X, y = tf.constant(data["X"], dt), tf.constant(data["y"][:, None], dt)
    adam = tf.keras.optimizers.Adam(args.lr)
    model.elbo((X[:10], y[:10]))
    variables = model.trainable_variables

    @tf.function(jit_compile=args.xla)
    def step(idx):
        Xb, yb = (X, y) if B == N else (tf.gather(X, idx), tf.gather(y, idx))
        with tf.GradientTape() as tape:
            loss = -model.elbo((Xb, yb)) / N
        adam.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    rng, times, nb = np.random.default_rng(args.seed), [], max(1, N // B)
    for it in range(args.warmup + args.iters):
        if it % nb == 0:
            perm = rng.permutation(N)
        idx = tf.constant(perm[(it % nb) * B:(it % nb + 1) * B])
        if it == args.warmup:
            others = pc.Others()
        t0 = pc.clock()
        l = float(step(idx).numpy())
        times.append(pc.clock() - t0)
    t = times[args.warmup:]
    extra = dict(others_share=others.share(), sec_min=float(np.min(t)), variant="xla" if args.xla else "graph",
                 version=f"gpflux {gpflux.__version__} gpflow {gpflow.__version__} tf {tf.__version__}")
    if args.predict:
        extra.update(pc.time_prediction(args, lambda chunk: predictor(args, model, data, dt, chunk)))
    pc.emit(args, "gpflux", data, float(np.median(t)), args.iters, -l * N, extra)


def predictor(args, model, data, dt, chunk):
    """A call that predicts means and variances [S, N]: `chunk` copies of the rows at once, one sample a copy."""
    X = tf.constant(np.tile(pc.predict_inputs(args, data), (chunk, 1)), dt)

    @tf.function(jit_compile=args.xla)
    def path():
        return model.predict_f(X)

    def call():
        return [[part.numpy() for part in path()] for _ in range((args.S if args.hidden else 1) // chunk)]

    return call


for c in pc.configs(top):
    bench(c)
