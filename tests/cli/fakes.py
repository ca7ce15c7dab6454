"""A small table with wrong labels, as a file."""

import random

RIGHT = 120


def people(path, wrong=6, seed=0):
    """Write people with an income that follows from age and job, but for some of them."""
    rng = random.Random(seed)
    lines = ["name,age,job,income"]
    for i in range(RIGHT):
        age, job = rng.randint(20, 60), rng.choice(["baker", "=clerk", "pilot"])
        high = age + 15 * (job == "pilot") > 45
        age = "" if i % 17 == 0 else str(age)
        lines.append(f"p{i:03},{age},{job},{'high' if high != (i < wrong) else 'low'}")
    path.write_text("\n".join(lines) + "\n")
    return path
