import type { ToolVocabulary } from '../reader-kit.ts';

/** The tools of Kimi CLI and Kimi Code. */
export const KIMI_TOOLS: ToolVocabulary = {
  read: ['read', 'readfile', 'readmediafile'],
  edit: ['write', 'edit', 'writefile', 'strreplacefile', 'strreplace'],
  shell: ['bash', 'shell', 'taskoutput', 'taskstop'],
  search: ['grep', 'glob', 'tasklist'],
  web: ['websearch', 'searchweb', 'fetchurl'],
  agent: ['agent', 'task', 'agentswarm'],
  skill: ['skill'],
  plan: [
    'todolist',
    'settodolist',
    'enterplanmode',
    'exitplanmode',
    'creategoal',
    'getgoal',
    'updategoal',
    'setgoalbudget',
    'think',
  ],
  question: ['askuserquestion'],
};
