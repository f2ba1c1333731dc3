"""Scores of a Spark DataFrame: one accumulator for each partition, merged as a tree.

    pip install pyspark pandas pyarrow
    python examples/spark_accumulators.py

Every partition is summed up where it lies (`mapInPandas`); only the accumulators travel, as JSON, and are merged by
`treeReduce`. Without Spark the same two functions run on plain batches, which shows what they do.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

import scorebars as sb

METRICS = ["root_mean_squared_error", "mean_absolute_error", "mean_error"]


def accumulate(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The accumulator of one partition, as a table with one text."""
    total = sb.Accumulator(METRICS)
    for batch in batches:
        total.update(batch["y"], batch["model"], yerr=batch["yerr"])
    yield pd.DataFrame({"accumulator": [total.to_json()]})


def merge(one: str, other: str) -> str:
    """Two accumulators as one."""
    return sb.Accumulator.from_json(one).merge(sb.Accumulator.from_json(other)).to_json()


def on_spark(frame: pd.DataFrame) -> sb.Accumulator:
    """The accumulator of all rows, by Spark."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").appName("scorebars").getOrCreate()
    try:
        table = spark.createDataFrame(frame).repartition(4)
        parts = table.mapInPandas(accumulate, schema="accumulator string")
        return sb.Accumulator.from_json(parts.rdd.map(lambda row: row.accumulator).treeReduce(merge))
    finally:
        spark.stop()


def in_batches(frame: pd.DataFrame) -> sb.Accumulator:
    """The same without Spark: four partitions, one after the other."""
    texts = [next(accumulate(iter([frame.iloc[k::4]])))["accumulator"][0] for k in range(4)]
    return sb.Accumulator.from_json(merge(merge(texts[0], texts[1]), merge(texts[2], texts[3])))


def main() -> None:
    masses = sb.datasets.load_nuclear_masses()
    frame = pd.DataFrame({"y": masses.y, "model": masses.predictions["FRDM2012"], "yerr": masses.yerr})
    try:
        import pyspark  # noqa: F401
    except ImportError:
        print("pyspark is not installed: the partitions are summed up here.")
        total = in_batches(frame)
    else:
        total = on_spark(frame)
    found = total.result()
    whole = sb.evaluate(masses.y, {"model": masses.predictions["FRDM2012"]}, yerr=masses.yerr, metrics=METRICS)
    for metric in METRICS:
        print(f"{metric:25} partitions {found[metric]}   all rows {whole['model', metric]}")
        assert abs(found[metric].expected - whole["model", metric].expected) < 1e-12


if __name__ == "__main__":
    main()
