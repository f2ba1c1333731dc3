"""A small table of measured masses, and how it becomes a text file."""

TABLE = {
    "id": ["He4", "C12", "O16", "Ne20", "Mg24", "Si28", "S32", "Ar36", "Ca40", "Ti44", "Cr48", "Fe52"],
    "y": [2.42, 0.11, -4.74, -7.04, -13.93, -21.49, -26.02, -30.23, -34.85, -37.55, -42.82, -48.33],
    "y_err": [0.05, 0.0, 0.1, 0.2, 0.15, 0.1, 0.3, 0.25, 0.2, 0.4, 0.3, 0.5],
    "pred_drop": [2.9, 0.6, -4.1, -7.5, -13.2, -21.9, -26.6, -29.4, -35.4, -37.0, -42.1, -48.9],
    "pred_shell": [2.5, 0.2, -4.9, -6.9, -14.1, -21.3, -26.1, -30.5, -34.6, -37.9, -42.5, -48.1],
    "shell": ["light"] * 6 + ["heavy"] * 6,
}


def write_csv(path, table, delimiter=","):
    rows = zip(*table.values(), strict=True)
    lines = [delimiter.join(table), *(delimiter.join("" if v is None else str(v) for v in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
