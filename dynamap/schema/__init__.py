"""From a table's description to requests about the table itself."""

from dynamap.schema.create import check_table_name, create_params

__all__ = ["check_table_name", "create_params"]
