import type { ToolVocabulary } from '../reader-kit.ts';

/** The tools of Copilot CLI. */
export const COPILOT_TOOLS: ToolVocabulary = {
  read: ['view', 'read', 'show_file'],
  edit: ['edit', 'create', 'str_replace_editor', 'str_replace', 'insert', 'apply_patch', 'write'],
  shell: [
    'bash',
    'read_bash',
    'write_bash',
    'stop_bash',
    'list_bash',
    'shell',
    'powershell',
    'read_powershell',
    'stop_powershell',
  ],
  search: ['grep', 'glob', 'rg', 'lsp'],
  web: ['web_fetch', 'web_search', 'fetch_copilot_cli_documentation'],
  agent: ['task', 'read_agent', 'list_agents', 'write_agent'],
  skill: ['skill'],
  plan: ['update_todo', 'report_intent', 'exit_plan_mode', 'sql', 'task_complete'],
  question: ['ask_user'],
};
