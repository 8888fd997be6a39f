import { type AgentParser, parserFor } from '@recount/core/live';

/** A parser for the agent with this id. Throws if its streams cannot be read. */
export function createAgentParser(agent: string, now: () => number): AgentParser {
  const parser = parserFor(agent, { now });
  if (parser === undefined) throw new Error(`No parser for the agent ${agent}`);
  return parser;
}
