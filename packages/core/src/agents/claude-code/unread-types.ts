import type { UnreadType, UnreadTypes } from '../unread-lines.ts';

// The types of Claude Code's lines and attachments that recount does not read, each with the reason.

/** Fields of every line, which the reader knows, such as ids, times, and paths and names that may look like a text. */
export const ENVELOPE: ReadonlySet<string> = new Set([
  ...['type', 'uuid', 'parentUuid', 'sessionId', 'session_id', 'timestamp', 'version', 'userType', 'entrypoint'],
  ...['cwd', 'gitBranch', 'teamName', 'slug', 'agentId', 'toolUseID', 'parentToolUseID', 'logicalParentUuid'],
]);

/** `[why, mayHold]` */
type Entry = readonly [why: string, ...mayHold: string[]];

const toTypes = (entries: Readonly<Record<string, Entry>>): UnreadTypes =>
  Object.fromEntries(
    Object.entries(entries).map(([type, [why, ...mayHold]]): [string, UnreadType] => [type, { why, mayHold }]),
  );

const REQUEST = 'how the request was made, to repeat it; the conversation has separate lines';
const ACCESS = 'who may use the session, and for what';
const CONTEXT = 'context that the program adds to a request, in its own words';
const SETTING = 'a setting of the program';
const STATE = 'what the program shows while it works';
const TASK = 'progress of a background task, whose result comes as a message';

/**
 * Lines of session files that are no messages, with the parts that are read of some (titles, totals, the usage of
 * sub-agents, pull requests). All types that the transcript writer of Claude Code 2.1.332 has a rule for, and the types
 * of older versions.
 */
const SESSION_TYPES = toTypes({
  'agent-color': [SETTING],
  'agent-name': ['the name of the session, which is read', 'agentName'],
  'agent-setting': [SETTING],
  'ai-title': ['a title of the session, which is read', 'aiTitle'],
  'api-request': [REQUEST, 'params', 'thread', 'withheld', 'messages', 'requestFields'],
  'api-request-blob': [`${REQUEST}: a message as it was sent`, 'message'],
  'api-request-resumed': [REQUEST],
  'api-request-shape': [`${REQUEST}: system prompt and tools`, 'shape'],
  'artifact-autoreact-ledger': ['comments on published pages that were answered', 'artifacts'],
  'artifact-comment-monitor': ['published pages whose comments are watched', 'artifacts'],
  'atis-latch': [SETTING],
  'attribution-snapshot': ['which lines of files the agent wrote', 'snapshot', 'fileStates', 'files'],
  'bridge-session': ['the session at the vendor that this one is connected with'],
  'content-replacement': ['results that were shortened in later requests; they are in full before', 'replacements'],
  'continued-in': ['the session that continues this one'],
  'cost-state': [
    'the running total of the program, which is read',
    'totalCostUSD',
    'modelUsage',
    'hasUnknownModelCost',
  ],
  'custom-title': ['a title of the session, which is read', 'customTitle'],
  'data-flow-handover': [ACCESS, 'records'],
  'data-flow-incomplete': [ACCESS],
  'data-flow-records': [ACCESS, 'records'],
  'derived-from': ['the sessions that this one was made from', 'sessions'],
  'dev-mods': [SETTING, 'folder'],
  'ended-by-model': ['the agent ended the session'],
  'file-history-delta': ['which files a checkpoint contains', 'trackingPath', 'backup'],
  'file-history-snapshot': ['which files a checkpoint contains', 'snapshot'],
  'fork-context-ref': ['the session whose lines follow as a copy'],
  'frame-link': ['links a window of the program with the session'],
  'history-suppression': ['the vendor does not list the session', 'cause'],
  'host-row': ['a call of a script without its text; one with a text is shown'],
  'hybrid-organization': [ACCESS],
  'isolation-latch': [SETTING],
  'last-prompt': ['repeats the last prompt', 'lastPrompt'],
  launched: ['a workflow started an agent, whose transcript has the conversation', 'prompt', 'description'],
  'line-withheld': ['stands for a line that the program left out when it sent the transcript'],
  'memory-mode': [SETTING, 'reason', 'account'],
  mode: [SETTING],
  'observer-ref': ['the session that watches this one'],
  'permission-mode': ['the permission mode, which is read'],
  'pr-comment-monitor': ['pull requests whose comments are watched'],
  'pr-link': ['a pull request, which is read'],
  'queue-operation': ['a prompt that waits; it comes as a message when its turn comes', 'content'],
  relocated: ['the session went to another folder', 'relocatedCwd'],
  'repl-mode': [SETTING],
  result: [
    'the total of a run, which is read; its text repeats the last answer',
    ...['result', 'usage', 'modelUsage', 'model_usage_since_last_result', 'total_cost_usd', 'cost_usd', 'costUSD'],
    ...['permission_denials', 'errors', 'error', 'structured_output', 'cost_usd_since_last_result', 'agents'],
    ...['invalid_config_file', 'message'],
  ],
  'resume-head-vouch': ['a checksum of the lines before'],
  'session-owner': [ACCESS],
  started: ['a workflow started an agent', 'prompt', 'description'],
  tag: ['a label of the session', 'tag'],
  'tools-used': ['names of tools, which have separate lines'],
  'worktree-state': ['the worktree of the session', 'worktreeSession'],
});

const PROGRESS_TYPES = toTypes({
  'progress/none': [STATE],
  'progress/agent_api_retry': [STATE],
  'progress/agent_progress': [
    'what a sub-agent does; its usage is read, its transcript has the conversation',
    'data.message',
    'data.prompt',
    'data.normalizedMessages',
  ],
  'progress/artifact_publish_retry': [STATE],
  'progress/bash_progress': ['repeats a result that is not complete', 'data.output', 'data.fullOutput'],
  'progress/connector_file_progress': [STATE],
  'progress/hook_progress': [STATE, 'data.command', 'data.statusMessage', 'data.promptText'],
  'progress/mcp_progress': [STATE, 'data.progressMessage'],
  'progress/powershell_progress': ['repeats a result that is not complete', 'data.output', 'data.fullOutput'],
  'progress/query_update': ['repeats the input of a search', 'data.query'],
  'progress/repl_tool_call': ['a call of a script, which has a separate line', 'data.toolInput'],
  'progress/search_results_received': ['repeats the input of a search', 'data.query'],
  'progress/search_retry': [STATE],
  'progress/skill_progress': [STATE, 'data.message', 'data.prompt'],
  'progress/tool_heartbeat': [STATE],
  'progress/waiting_for_task': [STATE, 'data.taskDescription'],
});

/** Attachments. Few are messages. The others are the program's own words, files, and what other lines repeat. */
const ATTACHMENT_TYPES = toTypes({
  'attachment/none': ['an attachment without a type'],
  ...toAttachments(
    CONTEXT,
    `account_memory_recall advisor_stripped advisor_tool agent_ask_notice agent_listing_delta agent_mention
    artifact_opening_prefetch at_mention_reference attention_budget auto_mode auto_mode_exit bash_output_audience_note
    batching_reminder batching_reminder_sent claude_app_notice compact_file_reference compaction_reminder
    context_efficiency context_sections coordinator_context cowork_memory_context credential_org
    critical_system_reminder current_session_memory date date_change deferred_tools_delta deferred_tools_record
    dir_sync_notice dynamic_skill elapsed_time_reminder environment first_week fork_briefing goal_status
    inlined_image_paths instructions invoked_skills language linked_plugin_tools_note mcp_dropped_tools_delta
    mcp_instructions_delta mcp_resource memory_update message_pdf_reads model nested_memory opened_file_in_ide
    output_limit_note output_style output_style_instructions peer_mention plan_mode plan_mode_exit plan_mode_reentry
    plugin_note prefix_delta proactivity progress_reminder_sent project_doc_reads projects_thread_ask prompt_as_file
    prompt_render_point prompt_snapshot read_truncation_notice relevant_memories remote_session_change
    repl_mcp_needs_auth repl_mcp_servers sandbox_instructions secondary_reminder secondary_reminder_sent
    selected_lines_in_diff selected_lines_in_ide session_context session_cron_carry silent_turn_reminder
    skill_discovery skill_listing skill_mention task_reminder team_context thinking_drop thinking_stripped
    thread_state todo_reminder tool_host_result_lines tool_hosts_correction tool_hosts_notice tool_offer_record
    tool_results_cut tool_search_usage_reminder total_tokens_reminder ultra_effort_enter ultra_effort_exit
    ultrathink_effort unknown_command_fallback verify_plan_reminder whole_texts_withdrawn widget_context_hint
    withheld_memory workflow_keyword_request workflow_size_guideline_change`,
  ),
  ...toAttachments(
    'a file that a prompt names, or that changed, as the request had it',
    `already_read_file diagnostics directory document edited_image_file edited_text_file file image pdf_reference
    plan_file_reference`,
  ),
  ...toAttachments(
    'what a hook printed; other attachments have what the agent saw',
    `async_hook_response async_hook_response_batch hook_cancelled hook_deferred_tool hook_error_during_execution
    hook_non_blocking_error hook_permission_decision hook_success`,
  ),
  ...toAttachments(
    'shown as a message, unless it is empty or repeats one',
    `hook_additional_context hook_blocking_error hook_stopped_continuation hook_system_message poll_events
    queued_command teammate_mailbox`,
  ),
  ...toAttachments(STATE, 'budget_usd command_permissions max_turns_reached teammate_shutdown_batch'),
  ...toAttachments('repeats the call that returned it', 'structured_output'),
  ...toAttachments(TASK, 'task_progress task_status unified_tasks'),
  ...toAttachments('how much of a budget is used', 'token_usage output_token_usage'),
});

function toAttachments(why: string, types: string): Record<string, Entry> {
  return Object.fromEntries(
    types
      .split(/\s+/)
      .map((type) => [`attachment/${type}`, [why, 'attachment.*', 'rendered', 'renderedInHumanTurn'] as const]),
  );
}

/** Lines that only `claude -p --output-format stream-json` prints (SDKMessage of the agent SDK, November 2026). */
const STREAM_TYPES = toTypes({
  active_goal: [STATE, 'value'],
  auth_status: [STATE, 'output', 'error'],
  control_cancel_request: ['withdraws a question'],
  control_request: ['a question, which is shown while the agent runs', 'request'],
  control_response: ['an answer to a question', 'response'],
  conversation_reset: ['another conversation begins'],
  keep_alive: [STATE],
  prompt_suggestion: ['what the user might type next', 'suggestion'],
  rate_limit_event: [STATE, 'rate_limit_info'],
  stream_event: ['a part of a message that comes as a whole, with its usage read', 'event'],
  streamlined_text: ['repeats a message', 'text'],
  streamlined_tool_use_summary: ['sums up calls', 'tool_summary'],
  thinking: ['a part of a message that comes as a whole', 'thinking', 'content', 'text', 'delta'],
  tool_progress: [STATE],
  tool_use_summary: ['sums up calls', 'summary'],
  'system/background_tasks_changed': [TASK, 'tasks'],
  'system/bridge_state': [STATE, 'detail'],
  'system/commands_changed': [SETTING, 'commands'],
  'system/control_request_progress': [STATE],
  'system/elicitation_complete': [STATE],
  'system/files_persisted': ['names of files', 'files', 'failed'],
  'system/hook_progress': ['what a hook printed', 'stdout', 'stderr', 'output'],
  'system/hook_response': ['what a hook printed', 'stdout', 'stderr', 'output'],
  'system/hook_started': [STATE],
  'system/init': ['the beginning of the run, with folder, model, tools', '*'],
  'system/memory_recall': [CONTEXT, 'memories'],
  'system/memory_saved': [STATE, 'memories'],
  'system/mirror_error': [STATE, 'error'],
  'system/model_consent_fallback': [STATE, 'content'],
  'system/model_fallback': [STATE, 'content'],
  'system/notification': [STATE, 'text'],
  'system/permission_denied': ['a refusal, which is shown while the agent runs', 'message', 'decision_reason'],
  'system/plugin_install': [STATE, 'error'],
  'system/post_turn_summary': ['sums up a turn', 'summary', 'title', 'description', 'status_detail', 'needs_action'],
  'system/session_metadata': [STATE],
  'system/session_state_changed': [STATE],
  'system/session_title_changed': ['a title of the session', 'title'],
  'system/session_writes_lost': [STATE],
  'system/status': [STATE, 'compact_error'],
  'system/task_notification': [TASK, 'summary', 'usage', 'resource_links'],
  'system/task_progress': [TASK, 'summary', 'description', 'usage'],
  'system/task_started': [TASK, 'prompt', 'description'],
  'system/task_summary': [TASK, 'summary'],
  'system/task_updated': [TASK, 'patch'],
  'system/thinking_tokens': ['an estimate while the model thinks', 'estimated_tokens', 'estimated_tokens_delta'],
  'system/turn_starting': [STATE],
  'system/ui_*': [STATE, '*'],
  'system/vcs_state_changed': [STATE],
  'system/worker_shutting_down': [STATE],
});

/** Content that Claude Code writes and recount does not read, or reads only in part. */
export const UNREAD_TYPES: UnreadTypes = { ...SESSION_TYPES, ...PROGRESS_TYPES, ...ATTACHMENT_TYPES, ...STREAM_TYPES };

/**
 * System lines that are messages, by their content, which are all that Claude Code 2.1.332 writes into session files,
 * and the contents of older versions.
 */
export const KNOWN_SUBTYPES: ReadonlySet<string> = new Set([
  ...['agents_killed', 'api_error', 'api_refusal', 'api_retry', 'away_summary', 'bridge_state', 'bridge_status'],
  ...['checkpoint_done', 'cloud_session_delta', 'cloud_session_status', 'code_change_published', 'compact_boundary'],
  ...['dev_intent', 'error', 'feedback_draft_queued', 'file_attachments_missing', 'file_snapshot', 'hook_progress'],
  ...['hook_response', 'hook_started', 'informational', 'inherited_asks_settled', 'init', 'instruction_size_warning'],
  ...['late_allow_not_run', 'local_command', 'local_command_output', 'memory_saved', 'microcompact_boundary'],
  ...['model_consent_fallback', 'model_fallback', 'model_refusal_fallback', 'model_refusal_no_fallback'],
  ...['notification', 'peer_message_hold', 'per_turn_effort_changed', 'permission_check_status', 'permission_denied'],
  ...['permission_retry', 'placed', 'post_turn_summary', 'rewind_stand_in', 'scheduled_task_fire', 'session_start'],
  ...['shell_cwd', 'start_folder', 'status', 'stop_hook_summary', 'task_notification', 'task_progress'],
  ...['task_started', 'task_summary', 'task_updated', 'tool_host_result', 'turn_began_before_init', 'turn_duration'],
  ...['turn_handoff_available', 'turn_preempted', 'voice_call_talk'],
]);
