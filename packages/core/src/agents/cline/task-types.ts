import type { ToolVocabulary } from '../reader-kit.ts';
import type { UnreadTypes } from '../unread-lines.ts';

/** Tools of the extensions, and since version 3 of Cline's own runtime. */
export const CLINE_TOOLS: ToolVocabulary = {
  read: ['readfile', 'read_file', 'read_files', 'listcodedefinitionnames', 'readcommandoutput'],
  edit: [
    ...['editedexistingfile', 'newfilecreated', 'appliediff', 'applieddiff', 'insertcontent', 'searchandreplace'],
    ...['filedeleted', 'editor', 'apply_patch', 'generateimage', 'imagegenerated'],
  ],
  shell: ['execute_command', 'run_commands'],
  search: ['listfilestoplevel', 'listfilesrecursive', 'searchfiles', 'codebasesearch', 'search_codebase'],
  web: ['webfetch', 'websearch', 'browser_action', 'fetch_web_content', 'web_search'],
  agent: ['newtask', 'use_subagents', 'subagent', 'spawn_agent', 'team_run_task'],
  skill: ['skill', 'useskill', 'skills', 'runslashcommand'],
  plan: ['updatetodolist', 'switchmode', 'finishtask', 'summarizetask', 'team_task'],
  question: ['ask_question', 'ask_followup_question'],
};

/** Types of entries whose text the model said. Some hold it as JSON: see `toSaid`. */
export const SAID: ReadonlySet<string> = new Set(
  `text completion_result plan_completion_result plan_mode_respond act_mode_respond followup new_task condense
  summarize_task`.split(/\s+/),
);

/** Types of entries that report the failure of a request. */
export const FAILURES: ReadonlySet<string> = new Set(['error', 'api_req_failed']);

/** Types of entries that announce another try. */
export const RETRIES: ReadonlySet<string> = new Set(['error_retry', 'api_req_retry_delayed', 'api_req_retried']);

/** Other types of entries whose text the extension wrote. */
export const NOTED: ReadonlySet<string> = new Set(
  `diff_error clineignore_error rooignore_error command_permission_denied condense_context_error tool_error
  mistake_limit_reached auto_approval_max_req_reached payment_required_prompt invalid_model mcp_notification info
  hook_output_stream shell_integration_warning_with_suggestion report_bug`.split(/\s+/),
);

/** Types of entries that show what the user changed without typing a prompt. */
export const EDITED: ReadonlySet<string> = new Set(['user_edit_todos', 'user_feedback_diff']);

/** Types of entries with the result of the tool that was called last, by the name of that tool. */
export const RESULTS: Readonly<Record<string, string>> = {
  command_output: 'execute_command',
  mcp_server_response: 'use_mcp_server',
  browser_action_result: 'browser_action',
  codebase_search_result: 'codebaseSearch',
  subtask_result: 'newTask',
};

/**
 * Entries that are not read. Types of Cline 3.65, Roo Code 3.51 and Kilo Code 4, with `ask/` before those that ask.
 * https://github.com/cline/cline apps/vscode/src/shared/ExtensionMessage.ts
 * https://github.com/RooCodeInc/Roo-Code packages/types/src/message.ts
 */
export const UNREAD_TASK_ENTRIES: UnreadTypes = {
  'ask/completion_result': {
    why: 'asks for a reaction to the result, which is in an earlier message',
    mayHold: ['text'],
  },
  'ask/resume_*': { why: 'asks whether to continue', mayHold: ['text'] },
  api_req_rate_limit_wait: { why: 'a countdown', mayHold: ['text'] },
  api_req_deleted: { why: 'says that a request was cancelled' },
  'checkpoint_*': { why: 'a snapshot of the files', mayHold: ['text', 'checkpoint'] },
  mcp_server_request_started: { why: 'the call itself is read' },
  load_mcp_documentation: { why: 'says that the model got instructions', mayHold: ['text'] },
  task_progress: { why: 'the list of steps, repeated with each step', mayHold: ['text'] },
  browser_session_status: { why: 'says that the browser runs', mayHold: ['text'] },
  inspect_site: { why: 'the address of a site', mayHold: ['text'] },
  shell_integration_warning: { why: 'a hint about the terminal', mayHold: ['text'] },
  too_many_tools_warning: { why: 'numbers of tools', mayHold: ['text'] },
  hook_status: { why: 'says that a hook runs', mayHold: ['text'] },
  conditional_rules_applied: { why: 'names of rules', mayHold: ['text'] },
  generate_explanation: { why: 'says that changes are being explained', mayHold: ['text'] },
};
