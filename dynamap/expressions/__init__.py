"""Field references, the nodes they make, and the compiler that gives them text."""

from dynamap.expressions.compiler import Assignment, Compiler
from dynamap.expressions.fields import Condition, F, Field, KeyCondition
from dynamap.expressions.nodes import Action, Add, Operand, Remove, Set, Value

__all__ = [
    "Action",
    "Add",
    "Assignment",
    "Compiler",
    "Condition",
    "F",
    "Field",
    "KeyCondition",
    "Operand",
    "Remove",
    "Set",
    "Value",
]
