import type { UnreadTypes } from '../unread-lines.ts';

const REWIND = 'what the program needs to go back to an earlier state';
const GOAL = 'state of a goal, whose turns are messages';

/** System lines of session files that are not read, by `system/<subtype>`, which are all that Qwen Code 0.24 writes. */
export const UNREAD_TYPES: UnreadTypes = {
  'system/agent_bootstrap': { why: 'repeats the history that a sub-agent began with', mayHold: ['systemPayload'] },
  'system/agent_launch_prompt': { why: 'repeats the first prompt', mayHold: ['systemPayload'] },
  'system/agent_retry': { why: 'counts attempts' },
  'system/agent_session_ready': { why: 'a state of the program' },
  'system/at_command': { why: 'files that a prompt names, which it contains', mayHold: ['systemPayload'] },
  'system/attribution_snapshot': { why: 'which lines of files the agent wrote', mayHold: ['systemPayload'] },
  'system/background_task_completed': { why: 'a task ended; a message says so', mayHold: ['systemPayload'] },
  'system/branch_checkpoint': { why: REWIND, mayHold: ['systemPayload'] },
  'system/file_history_snapshot': { why: REWIND, mayHold: ['systemPayload'] },
  'system/goal_runtime': { why: GOAL, mayHold: ['systemPayload'] },
  'system/goal_state': { why: GOAL, mayHold: ['systemPayload'] },
  'system/goal_turn_end': { why: GOAL, mayHold: ['systemPayload'] },
  'system/omni_recall': { why: 'context that the program adds to a request', mayHold: ['systemPayload'] },
  'system/parent_session': { why: 'the session that this one was made from' },
  'system/rewind': { why: REWIND, mayHold: ['systemPayload'] },
  'system/session_artifact_event': { why: 'files that the session made', mayHold: ['systemPayload'] },
  'system/session_artifact_snapshot': { why: 'files that the session made', mayHold: ['systemPayload'] },
  'system/session_model': { why: 'each response names its model' },
  'system/session_source': { why: 'the program that started the session' },
  'system/session_sources_snapshot': { why: 'files that the session read', mayHold: ['systemPayload'] },
  'system/slash_command': {
    why: 'a command to the program, and what it printed',
    mayHold: ['systemPayload.outputHistoryItems', 'systemPayload.rawCommand'],
  },
  'system/turn_result': { why: 'how a turn ended', mayHold: ['systemPayload'] },
  'system/user_text_elements': { why: 'how a prompt was typed', mayHold: ['systemPayload'] },
};

const REPEATED = 'repeats what a message says';

/** Events of `ui_telemetry` lines that are not read. Of the responses, only sub-agents' responses are. */
export const UNREAD_EVENTS: UnreadTypes = {
  none: { why: 'an event without a name', mayHold: ['systemPayload.uiEvent'] },
  api_response: { why: REPEATED, mayHold: ['systemPayload.uiEvent'] },
  tool_call: { why: REPEATED, mayHold: ['systemPayload.uiEvent'] },
  user_prompt: { why: REPEATED, mayHold: ['systemPayload.uiEvent'] },
  api_cancel: { why: 'the user stopped a request' },
};
