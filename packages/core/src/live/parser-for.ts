import { RUNNABLE_AGENTS, type RunnableAgent } from '../agents/registry.ts';
import type { AgentEvent } from './agent-event.ts';
import { toAgentReader } from './agent-events.ts';
import type { LiveLineDecoderOptions } from './live-line-decoder.ts';
import { createLiveReader } from './live-reader.ts';
import { type ByteReader, createByteReader } from './stream-reader.ts';

/** Turns an agent's output, as bytes or text, into events that all agents share. */
export interface AgentParser extends ByteReader<AgentEvent> {
  /** Id of the agent, e.g. `claude-code`. */
  readonly agent: string;
}

export interface AgentParserOptions extends LiveLineDecoderOptions {
  /** The time, in milliseconds since 1970. */
  now: () => number;
}

/** The agent that a command starts, by the base name of its path: any case, `.exe` cut; an agent's id does as well. */
export function agentOf(command: string): RunnableAgent | undefined {
  const baseName = command.trim().split(/[/\\]/).at(-1) ?? '';
  const name = baseName.toLowerCase().replace(/\.exe$/, '');
  return RUNNABLE_AGENTS.find(({ id, program }) => program.command === name || id === name);
}

/** A new parser for the output of the agent that the command starts; undefined if recount cannot read that. */
export function parserFor(command: string, options: AgentParserOptions): AgentParser | undefined {
  const agent = agentOf(command);
  if (agent === undefined) return undefined;
  const reader = toAgentReader(createLiveReader(agent.program, options.now));
  return { agent: agent.id, ...createByteReader(reader, options) };
}
