import { AGENTS } from './all-agents.ts';

/** Words that every shell passes on as they are. */
const PLAIN_WORD = /^[\w./:=@-]+$/;

/**
 * The shell command that resumes a session on the machine that has its file, in the session's folder. Null if recount
 * knows none for the agent, or the id would need quotes or look like an option.
 */
export function toResumeCommand(agentId: string, sessionId: string): string | null {
  const words = AGENTS.find(({ id }) => id === agentId)?.toResumeWords?.(sessionId);
  if (words === undefined || sessionId.startsWith('-') || !words.every((word) => PLAIN_WORD.test(word))) return null;
  return words.join(' ');
}
