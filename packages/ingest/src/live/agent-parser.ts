import { type AgentParser, parserFor } from '@recount/core/live';

const COMMANDS: Readonly<Record<string, string>> = { 'claude-code': 'claude', codex: 'codex', amp: 'amp' };

/** A parser for the agent as streams name it. Throws for one that has none. */
export function createAgentParser(agent: string, now: () => number): AgentParser {
  const parser = parserFor(COMMANDS[agent] ?? '', { now });
  if (parser === undefined) throw new Error(`No parser for the agent ${agent}`);
  return parser;
}
