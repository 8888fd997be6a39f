import { type UnreadTypes, unread } from '../unread-lines.ts';

/**
 * Events of Copilot CLI that are not read. Types and fields come from `session-events.schema.json` in the package
 * `@github/copilot` 1.0.102, of what that version wrote in a trial, and of the corpus from 0.0.420 on. Families are
 * spelled out if their events hold texts, so that a new event of theirs is reported.
 */
export const COPILOT_UNREAD: UnreadTypes = {
  ...unread('abort agent.interrupted', 'the user interrupted the turn'),
  ...unread(
    'assistant.fusion_phase_started assistant.fusion_phase_activity assistant.fusion_phase_completed ' +
      'assistant.fusion_phase_failed session.fusion_route_started session.fusion_resolved session.fusion_route_failed ' +
      'session.fusion_commit_started session.fusion_handoff session.fusion_change_checkpoint session.fusion_completed',
    'the course of a turn by several models. The answer chosen is a message, and each request has a usage record',
    '*',
  ),
  ...unread(
    'assistant.turn_start assistant.turn_end assistant.turn_retry assistant.idle assistant.message_start ' +
      'assistant.streaming_delta assistant.server_tool_progress session.idle',
    'where a turn of the loop begins and ends',
  ),
  ...unread('assistant.intent', 'repeats the input of report_intent', 'data.intent'),
  ...unread('assistant.reasoning', 'the message that follows repeats it', 'data.content'),
  ...unread(
    'assistant.message_delta assistant.reasoning_delta assistant.tool_call_delta',
    'pieces of the message that follows',
    'data.*',
  ),
  ...unread(
    'tool.execution_partial_result tool.execution_progress tool.shell_output',
    'pieces of the result that follows',
    'data.*',
  ),
  ...unread('tool.execution_start', 'repeats the call of the message', 'data.*'),
  ...unread('external_tool.requested external_tool.completed', 'repeats the call of the message', 'data.arguments'),
  ...unread('mcp_app.tool_call_complete', 'a call by a view of an MCP server, not by the model', 'data.*'),
  ...unread('tool_search.activated', 'which tools the model may call'),
  ...unread(
    'model.turn_started model.model_call_started model.model_call_success model.message model.response ' +
      'model.turn_ended model.messages_snapshot',
    'the trace of a compaction; session.compaction_complete has its text and its usage',
    '*',
  ),
  ...unread(
    'model.call_start model.call_failure model.call_final_result model.call_finished prompt_cache_break',
    'how a request went; its usage record says what it used',
    '*',
  ),
  ...unread(
    'hook.start hook.end hook.progress',
    'input and output of hooks, with prompts, calls and results once more',
    ...['data.input', 'data.output', 'data.error', 'data.message'],
  ),
  ...unread(
    'permission.requested permission.completed session.permission_recovery human_response.recorded ' +
      'user_input.requested user_input.completed elicitation.requested elicitation.completed ' +
      'exit_plan_mode.requested exit_plan_mode.completed session_limits_exhausted.requested ' +
      'session_limits_exhausted.completed auto_mode_switch.requested auto_mode_switch.completed',
    'a dialog with the user; the call that asks is shown, and its result has the answer',
    '*',
  ),
  ...unread(
    'permission.*',
    'marks of older versions about permissions',
    ...['data.task', 'data.world', 'data.targetMembers'],
  ),
  ...unread('session.binary_asset', 'the bytes of an image or file', 'data.*'),
  ...unread('session.canvas.recorded session.canvas.opened', 'windows of extensions', 'data.input', 'data.title'),
  ...unread('session.canvas.*', 'windows of extensions', 'data.canvases'),
  ...unread(
    'session.compaction_start session.usage_info',
    'sizes of the context, which are no usage',
    ...['data.systemTokens', 'data.conversationTokens', 'data.toolDefinitionsTokens', 'data.currentTokens'],
  ),
  ...unread(
    'session.usage_checkpoint',
    'a total of the records before it; the total of session.shutdown is compared with them',
    ...['data.accountingSnapshot', 'data.providerModelMetrics', 'data.promptCacheBreakState'],
  ),
  ...unread('session.completion_receipt', 'counts of calls', 'data.finalTool'),
  ...unread('session.context_cleared', 'the prompt that follows repeats it', 'data.initialMessage'),
  ...unread(
    'session.schedule_created session.schedule_rearmed session.schedule_cancelled',
    'prompts for later, which are messages when they are sent',
    ...['data.prompt', 'data.displayPrompt'],
  ),
  ...unread(
    'session.info session.warning',
    'remarks of the program to its user, such as a server that failed',
    ...['data.message', 'data.tip', 'data.remediation'],
  ),
  ...unread(
    'session.mode_notice_delivered',
    'tells the model which mode it is in, in the words of the program',
    'data.content',
  ),
  ...unread(
    'session.task_complete',
    'repeats the input of task_complete',
    'data.summary',
    'data.reason',
    'data.blocker',
  ),
  ...unread(
    'skill.invoked skill.invoked_ref skill.context_delivered skill.context_delivered_ref',
    'the text of a skill, which is in a separate file; the call has its name',
    ...['data.content', 'data.description', 'data.prefix', 'data.suffix'],
  ),
  ...unread(
    'subagent.completed subagent.failed subagent.selected subagent.deselected subagent.configured',
    'the end of a sub-agent; its messages, calls and usage are read; its error is the result of the call',
    ...['data.agentDescription', 'data.agentDisplayName', 'data.error', 'data.totalTokens', 'data.modelOverrideReason'],
  ),
  ...unread(
    'session.auto_tier_recommendation session.auto_tier_switch_failed session.model_deselected ' +
      'session.autopilot_objective_changed session.autopilot_stopped session.mode_changed session.permissions_changed ' +
      'session.remote_steerable_changed session.session_limits_changed session.request_body_compression_disabled',
    'settings and modes of the session',
    ...['data.reason', 'data.sessionLimits'],
  ),
  ...unread(
    'session.plan_changed session.todos_changed session.memory_changed session.workspace_file_changed ' +
      'session.background_tasks_changed session.snapshot_rewind pending_messages.modified',
    'a note of a change; the call shows the change',
  ),
  ...unread(
    'session.custom_agents_updated session.custom_notification session.skills_loaded session.tools_updated ' +
      'session.extensions_loaded session.extensions.attachments_pushed session.mcp_servers_loaded ' +
      'session.mcp_server_status_changed session.managed_settings_resolved session.managed_settings_enforced ' +
      'session.managed_plugin_progress session.quota_observation session.indexed_search commands.changed',
    'what is installed and connected, and what is left of a subscription',
    'data.*',
  ),
  ...unread('session.mcp_* mcp.* capabilities.* sandbox.*', 'connections and rights of the session'),
  ...unread(
    'command.queued command.execute command.completed sampling.requested sampling.completed ui.ephemeral_query',
    'commands and questions beside the conversation, which no version seen has written',
    ...['data.command', 'data.args', 'data.answer', 'data.chunk'],
  ),
  ...unread('workflow.* factory.*', 'the state of a workflow, whose sub-agents are read'),
};
