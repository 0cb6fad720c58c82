"""Tables of plain files (Parquet, CSV, …), which have no log: what is read is what lies in their folders now.

Spark keeps the list of files that it once made, and takes a folder that is not there for an empty one. Here the folder
must be there, and is listed anew.
"""

from __future__ import annotations

from typing import Any

from penstock.engine.spark.catalyst import Catalyst
from penstock.errors import SourceMissing


def list_anew(catalyst: Catalyst, relation: Any) -> None:
    """Bring a relation's list of files up to date; SourceMissing if one of its folders is not there."""
    if not catalyst.is_a(relation, "org.apache.spark.sql.execution.datasources.HadoopFsRelation"):
        return
    location = relation.location()
    configuration = relation.sparkSession().sessionState().newHadoopConf()
    for root in catalyst.items(location.rootPaths()):
        if not root.getFileSystem(configuration).exists(root):
            raise SourceMissing(source=str(root), why="there is no such folder or file")
    location.refresh()
