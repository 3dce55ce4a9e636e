"""Makes the tables of the book, all of them simulated: `python docs/book/tables/make.py`. The same tables each time."""

import datetime
import math
import random
from pathlib import Path

HERE = Path(__file__).parent


def write(name, header, rows):
    """Writes a table as CSV."""
    lines = [header, *(",".join(str(cell) for cell in row) for row in rows)]
    (HERE / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def houses():
    """Sold houses, as somebody might have typed them; the dearer a house, the less its price is told by its columns."""
    draw = random.Random(1)
    places = {"Old Town": 1.5, "Harbour": 1.25, "Hill": 1.1, "Station": 0.9, "Mill Lane": 0.8}

    def house(number):
        place, area = draw.choice(list(places)), draw.uniform(35, 210)
        heating, garage = draw.choice(["gas", "oil", "heat pump", "none", "-"]), draw.random() < 0.4
        sold = datetime.date(2021, 1, 1) + datetime.timedelta(days=draw.randrange(1400))
        rooms = "" if draw.random() < 0.12 else max(1, round(area / 32 + draw.gauss(0, 0.6)))
        years = (sold - datetime.date(2021, 1, 1)).days / 365
        worth = 1900 * area * places[place] * (1 + 0.05 * years) + (14000 if garage else 0)
        worth *= {"heat pump": 1.08, "none": 0.9}.get(heating, 1) * math.exp(draw.gauss(0, 0.04 + 0.0006 * area))
        price = f'"${round(worth, -2):,.0f}"'
        return [
            number,
            place,
            heating,
            f"{area:.0f}",
            rooms,
            "DE",
            str(garage).lower(),
            sold.strftime("%d.%m.%Y"),
            price,
        ]

    header = "id,place,heating,area,rooms,country,garage,sold,price"
    write("houses.csv", header, [house(5000 + i) for i in range(600)])
    new = [house(7000 + i)[:-1] for i in range(4)]
    new[1][4], new[2][2], new[3][1] = "", "stove", "Lake"
    write("new-houses.csv", header.removesuffix(",price"), new)


def fish():
    """Three species of fish by their measures."""
    draw = random.Random(2)
    means = {"bream": (30, 0.40, 0.14), "perch": (25, 0.27, 0.16), "roach": (21, 0.29, 0.15)}

    def one():
        species = draw.choices(list(means), [3, 5, 2])[0]
        length, height, width = means[species]
        length = max(8.0, draw.gauss(length, 6))
        height, width = length * draw.gauss(height, 0.025), length * draw.gauss(width, 0.012)
        weight = 0.36 * length * height * width * draw.gauss(1, 0.06)
        return [f"{length:.1f}", f"{height:.1f}", f"{width:.1f}", f"{weight:.0f}", species]

    write("fish.csv", "length,height,width,weight,species", [one() for _ in range(400)])


def visits():
    """How often people saw a doctor, in how many months."""
    draw = random.Random(3)

    def person():
        age, smoker, months = draw.uniform(18, 85), draw.random() < 0.25, draw.choice([6, 12, 12, 24])
        rate = (
            months
            / 12
            * math.exp(0.2 + 0.6 * math.sin((age - 30) / 18) + (0.4 if smoker else 0))
            * draw.gammavariate(3, 1 / 3)
        )
        count, left = 0, draw.expovariate(1)
        while left < rate:
            count, left = count + 1, left + draw.expovariate(1)
        return [f"{age:.0f}", "yes" if smoker else "no", months, count]

    write("visits.csv", "age,smoker,months,visits", [person() for _ in range(400)])


def demand():
    """Two years of days: a trend, a season, a quiet weekend, and a random walk that no column tells of."""
    draw, walk, rows = random.Random(4), 0.0, []
    for i in range(730):
        day = datetime.date(2023, 1, 1) + datetime.timedelta(days=i)
        walk += draw.gauss(0, 1.2)
        level = 200 + 0.05 * i + 25 * math.sin(2 * math.pi * i / 365) - (30 if day.weekday() >= 5 else 0)
        rows.append([day.isoformat(), f"{level + walk + draw.gauss(0, 4):.1f}"])
    write("demand.csv", "day,demand", rows)


def patients():
    """Patients with twelve visits each, who differ by more than their age and dose."""
    draw, rows = random.Random(5), []
    for patient in range(40):
        age, own = draw.uniform(20, 80), draw.gauss(0, 12)
        for _ in range(12):
            dose = draw.uniform(0, 5)
            pressure = 120 + 0.4 * age - 8 * math.tanh(dose) + own + draw.gauss(0, 2)
            rows.append([f"p{patient}", f"{age:.1f}", f"{dose:.2f}", f"{pressure:.1f}"])
    write("patients.csv", "patient,age,dose,pressure", rows)


if __name__ == "__main__":
    for make in (houses, fish, visits, demand, patients):
        make()
