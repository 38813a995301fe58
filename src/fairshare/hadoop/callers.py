"""The user of a call over Hadoop's RPC: that of its connection, or the one for whom that user acts.

A simple cluster believes its callers. `hadoop.proxyuser.*` lists the users that act for others, and
from where, as for the REST interface.
"""

from fairshare.hadoop.wire.calls import CallContext
from fairshare.hadoop.wire.exceptions import AUTHORIZATION, RpcError
from fairshare.web.yarn.callers import Caller, is_proxy, is_proxy_host
from fairshare.web.yarn.gateway import Gateway


async def caller_of(context: CallContext, gateway: Gateway) -> Caller:
    """The caller with groups. Raises RpcError for one that may not act for the other."""
    user = context.user
    if not user:
        raise RpcError(AUTHORIZATION, "the connection names no user")
    groups = await gateway.groups_of(user)
    acting = context.real_user
    if acting and acting != user:
        if not is_proxy(gateway.settings, acting, user, groups):
            raise RpcError(AUTHORIZATION, f"User: {acting} is not allowed to impersonate {user}")
        if not is_proxy_host(gateway.settings, acting, context.address):
            raise RpcError(
                AUTHORIZATION,
                f"Unauthorized connection for super-user: {acting} from IP {context.address}",
            )
    return Caller(user, groups, address=context.address)
