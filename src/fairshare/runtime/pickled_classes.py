"""Owns where classes were in the releases that pickled snapshots, and the fields of structures.

Written once: nothing is added here, and nothing changed. Structures that got further fields in
those releases got them at their ends, so that the first of these are those of every snapshot.
"""

from typing import Final

_CLASSES = """
fairshare.manager.resource_manager.ResourceManager
    resource-manager
fairshare.model.asks.Ask
    ask
fairshare.model.asks.AskKey
    ask-key
fairshare.model.asks.AskTable
    ask-table
fairshare.model.cluster_events.NodeAdded
    node-added
        node total rack attributes
fairshare.model.events.ApplicationState
    application-state
fairshare.model.events.ContainerAllocated
    container-allocated
        container application node resource priority request locality master reserved
        allocated_ms
fairshare.model.events.ExitCode
    exit-code
fairshare.model.events.Locality
    locality
fairshare.model.events.MasterUnregistered
    master-unregistered
        application final_status diagnostics
fairshare.model.inputs.SubmissionDetails
    submission-details
        type max_attempts view_acl modify_acl application_label master_label
fairshare.model.inputs.SubmitApplication
    submit-application
        user queue name groups priority tags tasks master driver requests recovering label
        master_label number details lifetime_s properties prepared
fairshare.model.nodes.Node
    node
fairshare.model.nodes.Reservation
    reservation
        application node resource priority request
fairshare.model.operations.Drain
    drain
        total since_ms deadline_ms
fairshare.model.queues.Queue
    queue
fairshare.model.resources.ResourceTypes
    resource-types
        names units
fairshare.model.tasks.Assignment
    assignment
        group task
fairshare.model.tasks.GroupProgress
    group-progress
fairshare.model.tasks.TaskBoard
    task-board
fairshare.model.work.Command
    command
        arguments environment directory callable payload
fairshare.model.work.ContainerRequest
    container-request
        count resource priority hosts racks relax request location label
fairshare.model.work.Payload
    payload
        digest size
fairshare.model.work.TaskGroup
    task-group
        name count resource command priority hosts racks relax max_attempts time_limit_ms after
        slow_start label
fairshare.placement.mapping.rule.MappingAction
    mapping-action
fairshare.placement.mapping.rule.MappingFallback
    mapping-fallback
fairshare.placement.mapping.rule.MappingRule
    mapping-rule
        matcher match action path create fallback source
fairshare.placement.mapping.rule.Matcher
    matcher
fairshare.placement.rule.RuleSettings
    rule-settings
        name create queue parent
fairshare.schedulers.capacity.applications.CapacityApplication
    capacity-application
fairshare.schedulers.capacity.applications.Stage
    capacity-stage
fairshare.schedulers.capacity.calculators.DominantCalculator
    capacity-dominant-calculator
fairshare.schedulers.capacity.calculators.MemoryCalculator
    capacity-memory-calculator
fairshare.schedulers.capacity.queues.CapacityQueue
    capacity-queue
fairshare.schedulers.capacity.queues.Share
    capacity-share
fairshare.schedulers.capacity.scheduler.CapacityScheduler
    capacity-scheduler
fairshare.schedulers.capacity.settings.Amount
    capacity-amount
        value unit
fairshare.schedulers.capacity.settings.CapacitySettings
    capacity-settings
        types queues templates minimum_allocation maximum_allocation maximum_override_delay_ms
        maximum_application_priority acl_enabled administrators_acl master_max_attempts
        heartbeat_interval_ms monitor dominant maximum_applications queue_maximum_applications
        maximum_master_share maximum_parallel_applications user_maximum_parallel_applications
        users_maximum_parallel_applications minimum_user_limit_percent user_limit_factor
        node_locality_delay rack_locality_additional_delay rack_locality_full_reset
        continue_looking multiple_assignments maximum_assignments maximum_off_switch_assignments
        mappings mappings_override workflow_priorities workflow_priorities_override
        workflow_tag_prefix legacy_queue_mode lazy_preemption user_metrics application_fail_fast
        maximum_queue_depth queue_expiration_ms labels label_of_node labels_enabled
        labels_distributed master_default_label master_may_borrow reservations
fairshare.schedulers.capacity.settings.IntraQueuePreemption
    capacity-intra-queue-preemption
        enabled minimum_threshold max_allowable_limit order conservative_drf
fairshare.schedulers.capacity.settings.LabelCapacity
    capacity-label-capacity
        capacity maximum_capacity maximum_master_share
fairshare.schedulers.capacity.settings.MonitorSettings
    capacity-monitor-settings
        enabled monitor_on observe_only interval_ms wait_before_kill_ms total_per_round
        max_ignored_over_capacity natural_termination_factor select_reserved balance_reserved
        balance_after_satisfied balance_wait_before_kill_ms conservative_drf intra_queue
        underutilized underutilized_delay_ms underutilized_move_reservation auto_removal
        legacy_queue_management legacy_interval_ms
fairshare.schedulers.capacity.settings.Percentage
    capacity-percentage
        percent
fairshare.schedulers.capacity.settings.PriorityRule
    capacity-priority-rule
        acl maximum_priority default_priority
fairshare.schedulers.capacity.settings.QueueSettings
    capacity-queue-settings
        children capacity maximum_capacity minimum_user_limit_percent user_limit_factor
        user_weights maximum_applications maximum_parallel_applications maximum_master_share
        ordering_policy size_based_weight enforced_partitions priority
        default_application_priority state submit_acl administer_acl priority_rules
        maximum_allocation_mb maximum_allocation_vcores maximum_allocation preemption_disabled
        intra_queue_preemption_disabled maximum_lifetime_s default_lifetime_s
        allow_zero_capacity_sum accessible_labels label_capacities default_label_expression
        dynamic_children maximum_dynamic_children maximum_queue_depth remove_dynamic
        legacy_dynamic_leaves legacy_fail_on_exceeding legacy_maximum_leaves
fairshare.schedulers.capacity.settings.Template
    capacity-template
        common leaf parent legacy_leaf
fairshare.schedulers.capacity.settings.Unit
    capacity-unit
fairshare.schedulers.capacity.settings.Vector
    capacity-vector
        amounts
fairshare.schedulers.capacity.settings.Weight
    capacity-weight
        weight
fairshare.schedulers.capacity.settings.WorkflowPriority
    capacity-workflow-priority
        workflow queue priority
fairshare.schedulers.capacity.state.CapacityState
    capacity-state
fairshare.schedulers.capacity.users.User
    capacity-user
fairshare.schedulers.capacity.users.Users
    capacity-users
fairshare.schedulers.fair.applications.FairApplication
    fair-application
fairshare.schedulers.fair.containers.Tables
    fair-tables
fairshare.schedulers.fair.policies.Policy
    fair-policy
fairshare.schedulers.fair.queues.FairQueue
    fair-queue
fairshare.schedulers.fair.scheduler.FairScheduler
    fair-scheduler
fairshare.schedulers.fair.settings.AllocationSettings
    fair-allocation-settings
        queues user_max_applications user_max_applications_default
        queue_max_applications_default queue_max_share_default queue_max_master_share_default
        fair_share_timeout_ms min_share_timeout_ms fair_share_threshold default_policy rules
        from_file
fairshare.schedulers.fair.settings.Amount
    fair-amount
        absolute fractions
fairshare.schedulers.fair.settings.FairSettings
    fair-settings
        types minimum_allocation maximum_allocation increment_allocation
        maximum_override_delay_ms user_as_default_queue allow_undeclared_pools preemption
        preemption_utilization_threshold master_preemption master_preemption_queues
        wait_before_kill_ms wait_before_next_starvation_check_ms size_based_weight
        assign_multiple dynamic_max_assign max_assign locality_threshold_node
        locality_threshold_rack continuous_scheduling continuous_scheduling_sleep_ms
        locality_delay_node_ms locality_delay_rack_ms update_interval_ms reservable_nodes
        reservation_threshold_multiple acl_enabled administrators heartbeat_interval_ms
        master_max_attempts allocations
fairshare.schedulers.fair.settings.QueueSettings
    fair-queue-settings
        name parent min_share max_share max_child_share max_container max_running_applications
        max_master_share weight policy submit_acl administer_acl min_share_timeout_ms
        fair_share_timeout_ms fair_share_threshold preemptable reservable
fairshare.schedulers.fair.state.FairState
    fair-state
fairshare.schedulers.fair.users.Users
    fair-users
fairshare.schedulers.fifo.state.FifoApplication
    fifo-application
fairshare.schedulers.fifo.scheduler.FifoScheduler
    fifo-scheduler
fairshare.schedulers.fifo.settings.FifoSettings
    fifo-settings
        types minimum_allocation maximum_allocation increment_allocation
        maximum_override_delay_ms acl_enabled administrators master_max_attempts
fairshare.schedulers.fifo.state.FifoState
    fifo-state
fairshare.schedulers.ordering.Order
    order
fairshare.schedulers.pools.jobs.Job
    pools-job
fairshare.schedulers.pools.jobs.Slots
    pools-slots
fairshare.schedulers.pools.scheduler.PoolsScheduler
    pools-scheduler
fairshare.schedulers.pools.settings.PoolAllocation
    pools-pool-allocation
        name parent min_share max_share weight max_running_jobs mode min_share_timeout_ms
fairshare.schedulers.pools.settings.PoolAllocations
    pools-pool-allocations
        pools user_max_jobs user_max_jobs_default pool_max_jobs_default default_mode
        default_min_share_timeout_ms fair_share_timeout_ms
fairshare.schedulers.pools.settings.PoolsSettings
    pools-settings
        types minimum_allocation maximum_allocation generation allocations pool_property
        allow_undeclared_pools assign_multiple maps_per_heartbeat reduces_per_heartbeat
        size_based_weight weight_adjuster booster_factor booster_duration_ms boost_from
        load_manager load_max_difference update_interval_ms preemption preemption_only_log
        preemption_interval_ms locality_delay_ms locality_delay_node_ms locality_delay_rack_ms
        heartbeats_per_second heartbeat_scaling wait_for_maps strict fifo hierarchical
        scale_min_shares priority_factors acl_enabled administrators master_max_attempts
        defaults
fairshare.schedulers.pools.state.PoolsState
    pools-state
fairshare.schedulers.pools.tree.Pool
    pools-pool
fairshare.live.activities.Activities
    activities
fairshare.live.activities.Activity
    activity
        node instant_ms application queue application_priority priority request resource
        reserved from_reservation
fairshare.live.activities.Update
    update
        node instant_ms activities
fairshare.live.biographies.Attempt
    attempt
fairshare.live.biographies.Biographies
    biographies
fairshare.live.biographies.Biography
    biography
fairshare.live.changes.Changes
    changes
fairshare.live.chronicle.Chronicle
    chronicle
fairshare.live.configuration.LoadedSettings
    loaded-settings
fairshare.live.history.ApplicationHistory
    application-history
fairshare.live.history.ContainerHistory
    container-history
fairshare.live.history.ContainerRecord
    container-record
fairshare.live.history.TaskRecord
    task-record
fairshare.live.loaded_versions.LoadedVersion
    loaded-version
        version loaded_ms settings
fairshare.live.loaded_versions.LoadedVersions
    loaded-versions
fairshare.live.master_limits.MasterLimit
    master-limit
        masters user users
fairshare.live.master_limits.MasterLimits
    master-limits
fairshare.live.node_book.InactiveNode
    inactive-node
        name rack total state report gone_ms
fairshare.live.node_book.NodeBook
    node-book
fairshare.live.node_book.Utilization
    utilization
        physical_memory_mb virtual_memory_mb cpu
fairshare.live.scheduler_health.Operation
    operation
        node container queue
fairshare.live.scheduler_health.Run
    run
        resources count
fairshare.live.scheduler_health.SchedulerHealth
    scheduler-health
fairshare.live.spans.Life
    life
fairshare.live.spans.Lives
    lives
fairshare.live.spans.Mark
    mark
fairshare.live.spans.Span
    span
"""
"""The path of a class, its tag, and of a structure its fields in their order."""


def _parse(text: str) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    tags: dict[str, str] = {}
    structures: dict[str, tuple[str, ...]] = {}
    path = ""
    for line in text.strip().splitlines():
        if line.startswith(" " * 8):
            structures[path] = (*structures.get(path, ()), *line.split())
        elif line.startswith(" "):
            tags[path] = line.strip()
        else:
            path = line
    return tags, structures


_parsed = _parse(_CLASSES)
TAGS: Final = _parsed[0]
STRUCTURES: Final = _parsed[1]
