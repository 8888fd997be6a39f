import type { UnreadType, UnreadTypes } from '../unread-lines.ts';

/** Repeats items; `mayHold`: the fields that do. */
const repeats = (...mayHold: string[]): UnreadType => ({ why: 'repeats response items', mayHold });
/** Tells people who watch what the thread does now. */
const watched = (...mayHold: string[]): UnreadType => ({ why: 'for people who watch the thread', mayHold });
/** Asks people who watch; the answer becomes an item. */
const asked = (...mayHold: string[]): UnreadType => ({ why: 'asks people who watch the thread', mayHold });

const COMMAND = ['command', 'parsed_cmd', 'cwd', 'script_path', 'interaction_input'];
const AGENTS = ['prompt', 'status', 'statuses', 'agent_statuses'];

/**
 * What rollouts hold besides what is read, by line type, and within `event_msg` and `response_item` by the payload's
 * type. From the schema of a line in version 0.171.0 (`codex app-server generate-internal-json-schema`), and
 * openai/codex, codex-rs/protocol/src/protocol.rs, for earlier versions.
 */
export const UNREAD_TYPES: UnreadTypes = {
  world_state: { why: 'instructions and settings that the model gets', mayHold: ['state'] },
  dynamic_tools_updated: { why: 'descriptions of tools', mayHold: ['tools', 'dynamic_tools', 'snapshot'] },
  inter_agent_communication_metadata: { why: 'how the message after it was delivered' },
  retained_context: { why: 'repeats messages and answers', mayHold: ['questions', 'text', 'evidence'] },
  security_risk_score: { why: 'a rating, without content' },
  realtime_item: { why: 'how a conversation by voice went on; its transcript is read', mayHold: ['input'] },
  state: { why: 'the state of the working tree', mayHold: ['git', 'instructions'] },

  'response_item/additional_tools': { why: 'descriptions of tools', mayHold: ['tools'] },
  'response_item/compaction': { why: 'encrypted' },
  'response_item/compaction_summary': { why: 'encrypted' },
  'response_item/compaction_trigger': { why: 'asks for a compaction' },
  'response_item/configuration_update': { why: 'a setting', mayHold: ['reasoning'] },
  'response_item/context_compaction': { why: 'encrypted' },
  'response_item/ghost_snapshot': { why: 'a snapshot of the working tree', mayHold: ['ghost_commit'] },
  'response_item/other': { why: 'what the version that wrote it did not know' },

  'event_msg/agent_message': repeats('message', 'memory_citation', 'moderation', 'questions'),
  'event_msg/agent_message_delta': repeats('delta'),
  'event_msg/agent_message_content_delta': repeats('delta'),
  'event_msg/agent_reasoning': repeats('text'),
  'event_msg/agent_reasoning_delta': repeats('delta'),
  'event_msg/agent_reasoning_raw_content': repeats('text'),
  'event_msg/agent_reasoning_raw_content_delta': repeats('delta'),
  'event_msg/agent_reasoning_section_break': repeats(),
  'event_msg/collab_agent_interaction_begin': repeats(...AGENTS),
  'event_msg/collab_agent_interaction_end': repeats(...AGENTS),
  'event_msg/collab_agent_spawn_begin': repeats(...AGENTS),
  'event_msg/collab_agent_spawn_end': repeats(...AGENTS),
  'event_msg/collab_close_begin': repeats(...AGENTS),
  'event_msg/collab_close_end': repeats(...AGENTS),
  'event_msg/collab_resume_begin': repeats(...AGENTS),
  'event_msg/collab_resume_end': repeats(...AGENTS),
  'event_msg/collab_waiting_begin': repeats(...AGENTS),
  'event_msg/collab_waiting_end': repeats(...AGENTS),
  'event_msg/dynamic_tool_call_request': repeats('arguments'),
  'event_msg/dynamic_tool_call_response': repeats('arguments', 'content_items', 'error'),
  'event_msg/entered_review_mode': repeats('user_facing_hint', 'target', 'prompt'),
  'event_msg/exec_command_begin': repeats(...COMMAND),
  'event_msg/exec_command_end': repeats(...COMMAND, 'stdout', 'stderr', 'aggregated_output', 'formatted_output'),
  'event_msg/exec_command_output_delta': repeats('chunk'),
  'event_msg/exited_review_mode': repeats('review_output'),
  'event_msg/image_generation_begin': repeats(),
  'event_msg/image_generation_end': repeats('result', 'revised_prompt', 'saved_path'),
  'event_msg/item_completed': repeats('item', 'content_token_count'),
  'event_msg/item_started': repeats('item'),
  'event_msg/mcp_tool_call_begin': repeats('invocation', 'action_name', 'app_name'),
  'event_msg/mcp_tool_call_end': repeats('invocation', 'result', 'action_name', 'app_name'),
  'event_msg/patch_apply_begin': repeats('changes'),
  'event_msg/patch_apply_end': repeats('changes', 'stdout', 'stderr'),
  'event_msg/patch_apply_updated': repeats('changes'),
  'event_msg/plan_delta': repeats('delta'),
  'event_msg/plan_update': repeats('explanation', 'plan'),
  'event_msg/raw_response_item': repeats('item'),
  'event_msg/raw_response_completed': {
    why: 'repeats the token_usage_record',
    mayHold: ['token_usage', 'usage_metadata'],
  },
  'event_msg/reasoning_content_delta': repeats('delta'),
  'event_msg/reasoning_raw_content_delta': repeats('delta'),
  'event_msg/sub_agent_activity': repeats(),
  'event_msg/thread_goal_updated': repeats('goal'),
  'event_msg/turn_diff': repeats('unified_diff'),
  'event_msg/user_message': repeats('message', 'text_elements', 'local_images', 'local_audio'),
  'event_msg/view_image_tool_call': repeats('path'),
  'event_msg/web_search_begin': repeats('query'),
  'event_msg/web_search_end': repeats('query', 'action', 'results'),

  'event_msg/auth_recovery_completed': watched('message'),
  'event_msg/auth_recovery_started': watched('message'),
  'event_msg/background_event': watched('message'),
  'event_msg/context_compacted': watched(),
  'event_msg/deprecation_notice': watched('summary', 'details'),
  'event_msg/environment_connected': watched(),
  'event_msg/environment_disconnected': watched(),
  'event_msg/get_history_entry_response': watched('entry'),
  'event_msg/guardian_assessment': {
    why: 'the judgement of a reviewer, whose thread has a rollout of its own',
    mayHold: ['action', 'rationale'],
  },
  'event_msg/guardian_warning': watched('message'),
  'event_msg/hook_completed': watched('run'),
  'event_msg/hook_started': watched('run'),
  'event_msg/list_custom_prompts_response': watched('custom_prompts'),
  'event_msg/list_skills_response': watched('skills'),
  'event_msg/mcp_list_tools_response': watched('tools', 'resources', 'resource_templates'),
  'event_msg/mcp_startup_complete': watched('failed'),
  'event_msg/mcp_startup_update': watched('status'),
  'event_msg/model_reroute': watched(),
  'event_msg/model_verification': watched('verifications'),
  'event_msg/realtime_conversation_closed': watched('reason'),
  'event_msg/realtime_conversation_list_voices_response': watched('voices'),
  'event_msg/realtime_conversation_realtime': watched('payload'),
  'event_msg/realtime_conversation_sdp': watched('sdp'),
  'event_msg/realtime_conversation_started': watched(),
  'event_msg/safety_buffering': watched('reasons', 'use_cases'),
  'event_msg/shutdown_complete': watched(),
  'event_msg/skills_update_available': watched(),
  'event_msg/terminal_interaction': watched('stdin'),
  'event_msg/thread_queue_changed': watched(),
  'event_msg/turn_moderation_metadata': watched('metadata'),
  'event_msg/undo_completed': watched('message'),
  'event_msg/undo_started': watched('message'),
  'event_msg/warning': watched('message'),

  'event_msg/apply_patch_approval_request': asked('changes', 'reason'),
  'event_msg/elicitation_abandoned': asked(),
  'event_msg/elicitation_request': asked('request', 'message'),
  'event_msg/exec_approval_request': asked(...COMMAND, 'reason', 'proposed_execpolicy_amendment'),
  'event_msg/request_permissions': asked('reason', 'permissions'),
  'event_msg/request_user_input': asked('questions'),
};

/** Events that repeat a call of an item by its id. Calls that a script of the model made have no item. */
export const CALL_EVENTS: ReadonlySet<string> = new Set([
  'exec_command_end',
  'mcp_tool_call_end',
  'patch_apply_end',
  'dynamic_tool_call_response',
]);
