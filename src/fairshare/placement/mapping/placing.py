"""Owns the evaluation of queue mappings: the queue of a submission.

Pure; does not know where rules come from (Hadoop: CSMappingPlacementRule.getPlacementForApp).
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
    """The full path of the queue of the first rule that yields one; it may not exist yet.

    None: the requested queue applies. Rules apply only if the submission requests no queue
    (`default` counts as none), or with `override`. Raises Misplaced if a rule rejects the
    submission.
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
    """Whether a rule matches a submission. Names are compared verbatim, including periods."""
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
    """The queue of a rule, or of its fallback; None: continue with the next rule."""
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
