"""Owns the walk through the queue mappings: which queue a submission comes to.

Pure, and unaware of where rules come from (spec/capacity.md 26.1 to 26.5).
"""

from collections.abc import Sequence

from fairshare.placement.mapping.queues import MappingQueues, Unusable, target
from fairshare.placement.mapping.rule import (
    MappingAction,
    MappingFallback,
    MappingRule,
    Matcher,
)
from fairshare.placement.mapping.variables import NOT_NAMED, MappingRequest, Variables
from fairshare.placement.rule import Misplaced


def place(
    rules: Sequence[MappingRule],
    request: MappingRequest,
    queues: MappingQueues,
    *,
    override: bool = False,
) -> str | None:
    """The full path of the queue of the first rule that gives one; it may have to be made.

    None: the rules have no say, and the queue that was asked for stands. They have one when none
    was asked for (`default` counts as none), or when they `override`. Raises Misplaced when a rule
    refuses the submission.
    """
    if request.queue != NOT_NAMED and not override:
        return None
    variables = Variables(request, queues)
    for number, rule in enumerate(rules, 1):
        if not _matches(rule, request, variables):
            continue
        match rule.action:
            case MappingAction.REJECT:
                raise _refusal(request, f"rule {number} refuses it")
            case MappingAction.SET_DEFAULT:
                variables.set_default(rule.path)
            case MappingAction.PLACE:
                queue = _queue_of(rule, request, variables, queues)
                if queue is not None:
                    return queue
    return None


def _matches(rule: MappingRule, request: MappingRequest, variables: Variables) -> bool:
    """Whether a rule is for this submission. Names are compared as they are, periods included."""
    wanted = variables.in_text(rule.match)
    match rule.matcher:
        case Matcher.ALL:
            return True
        case Matcher.USER:
            return wanted == request.user
        case Matcher.GROUP:
            return wanted in request.groups
        case Matcher.APPLICATION:
            return wanted == request.application


def _queue_of(
    rule: MappingRule, request: MappingRequest, variables: Variables, queues: MappingQueues
) -> str | None:
    """The queue that a rule puts into, or what its fallback gives; None: the next rule's turn."""
    try:
        return target(variables.in_path(rule.path), queues, create=rule.create)
    except Unusable as error:
        if rule.fallback == MappingFallback.SKIP:
            return None
        if rule.fallback == MappingFallback.REJECT:
            raise _refusal(request, str(error)) from error
    try:
        return target(variables.default, queues, create=False)
    except Unusable as error:
        raise _refusal(request, f"the default queue cannot be used: {error}") from error


def _refusal(request: MappingRequest, why: str) -> Misplaced:
    return Misplaced(
        f"Application submitted by user {request.user} to queue {request.queue} was rejected by a"
        f" mapping rule: {why}"
    )
