"""Field references, the nodes they make, and the compiler that gives them text."""

from dynamap.expressions.compiler import Compiler
from dynamap.expressions.fields import Condition, F, Field, KeyCondition, OrElse, Sum
from dynamap.expressions.nodes import Action, Add, Append, Discard, Operand, Remove, Set, SetIfMissing, Value
from dynamap.expressions.outline import Outline, Unusual
from dynamap.expressions.starting import StartingValues
from dynamap.expressions.updates import Assignment, UpdateCompiler

__all__ = [
    "Action",
    "Add",
    "Append",
    "Assignment",
    "Compiler",
    "Condition",
    "Discard",
    "F",
    "Field",
    "KeyCondition",
    "Operand",
    "OrElse",
    "Outline",
    "Remove",
    "Set",
    "SetIfMissing",
    "StartingValues",
    "Sum",
    "Unusual",
    "UpdateCompiler",
    "Value",
]
