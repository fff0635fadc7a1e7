"""The algorithms of dev/ml-bench: the data that each learns from, how MLlib learns, and what of a model two runs
must have in common.

MLlib's classes are those of the JVM: its Python side wants numpy, which nothing else here does.
"""

FEATURES = 100
CLUSTERS = 10
RANK = 8
SEED = 7


class KMeans:
    """Ten clusters of points. The row solver reads the cached DataFrame in each iteration; the block solver reads
    blocks that MLlib makes of it once and persists itself."""

    # What a point has in a batch of Spark's: the struct's bits and four fields, an array's head and null
    # bits, the values, and the length of all.
    ROW_BYTES = 40 + 8 + 16 + 8 * FEATURES + 4
    ITERATION = "collectAsMap at KMeans.scala"
    TOLERANCE = 1e-6

    @staticmethod
    def rows(spark, count, tasks):
        # Where a cluster's centre lies is any function of its number and the dimension.
        values = ", ".join(f"randn({i}) + 0.3 * sin((id % {CLUSTERS}) * {i + 1})" for i in range(FEATURES))
        return points(spark, spark.range(0, count, 1, tasks).selectExpr(f"array({values}) a"))

    @staticmethod
    def fit(jvm, frame, asked):
        learner = jvm.org.apache.spark.ml.clustering.KMeans()
        learner.setK(CLUSTERS).setSeed(SEED).setMaxIter(asked["iterations"]).setTol(0.0)
        # Iterations are what is measured: k-means|| would pass over the data eight times before the first one.
        learner.setInitMode("random").setSolver(asked["solver"])
        return learner.fit(frame)

    @staticmethod
    def told(jvm, model, frame):
        centres = [value for centre in model.clusterCenters() for value in centre.toArray()]
        return {"cost": model.summary().trainingCost(), "parameters": sorted(centres)}


class LogisticRegression:
    """Two classes of points. MLlib standardizes them into blocks of its own, which it persists; each iteration
    reads those."""

    ROW_BYTES = KMeans.ROW_BYTES + 8
    ITERATION = "treeAggregate at RDDLossFunction.scala"
    TOLERANCE = 1e-3

    @staticmethod
    def rows(spark, count, tasks):
        values = ", ".join(f"randn({i})" for i in range(FEATURES))
        side = " + ".join(f"a[{i}] * {1 / (i + 1):.4f}" for i in range(FEATURES))
        found = spark.range(0, count, 1, tasks).selectExpr(f"array({values}) a")
        return points(spark, found.selectExpr("a", f"if({side} + randn(999) > 0, 1D, 0D) label"), "label")

    @staticmethod
    def fit(jvm, frame, asked):
        learner = jvm.org.apache.spark.ml.classification.LogisticRegression()
        learner.setRegParam(0.01).setMaxIter(asked["iterations"]).setTol(0.0)
        return learner.fit(frame)

    @staticmethod
    def told(jvm, model, frame):
        return {"cost": list(model.summary().objectiveHistory())[-1],
                "parameters": [*model.coefficients().toArray(), model.intercept()]}


class Als:
    """Ratings of items by users. MLlib groups them into blocks of its own, by users and by items, and persists
    those at the level of `intermediateStorageLevel`; each iteration reads them."""

    # Of a rating: three numbers in the cached DataFrame, and in both kinds of blocks the other side's place
    # and the rating.
    ROW_BYTES = 3 * 4 + 2 * (4 + 4)
    ITERATION = None  # Spark runs all iterations as one job
    TOLERANCE = 1e-2

    @staticmethod
    def rows(spark, count, tasks):
        users, items = max(1000, count // 200), 2000
        return spark.range(0, count, 1, tasks).selectExpr(
            f"cast(rand(1) * {users} AS int) user", f"cast(pow(rand(2), 2) * {items} AS int) item").selectExpr(
            "user", "item", "cast(3 + sin(user) * cos(item) + 0.1 * randn(3) AS float) rating")

    @staticmethod
    def fit(jvm, frame, asked):
        learner = jvm.org.apache.spark.ml.recommendation.ALS()
        learner.setRank(RANK).setSeed(SEED).setMaxIter(asked["iterations"]).setRegParam(0.05)
        learner.setIntermediateStorageLevel(asked["intermediate"])
        # MLlib's own 10 unless a block, which a task makes on the heap in one, were over a fifth of the storage share.
        learner.setNumBlocks(max(10, round(5 * asked["size"])))
        return learner.fit(frame)

    @staticmethod
    def told(jvm, model, frame):
        some = frame.filter("user % 50 = 0")
        found = model.transform(some).selectExpr(
            jvm.PythonUtils.toSeq(["avg(pow(prediction - rating, 2)) cost", "avg(abs(prediction)) size"])).head()
        return {"cost": found.getDouble(0), "parameters": [found.getDouble(1)]}


def points(spark, frame, *others):
    """The frame with its column `a`, an array of doubles, as a vector `features`."""
    functions = spark.sparkContext._jvm.org.apache.spark.ml.functions
    made = frame._jdf.withColumn("features", functions.array_to_vector(frame._jdf.col("a"))).drop("a")
    return type(frame)(made, spark)


ALGORITHMS = {"kmeans": KMeans, "logistic": LogisticRegression, "als": Als}
