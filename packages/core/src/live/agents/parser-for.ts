import type { LiveLineDecoderOptions } from '../live-line-decoder.ts';
import { type ByteReader, createByteReader, type StreamReader } from '../stream-reader.ts';
import type { AgentEvent } from './agent-event.ts';
import { createAmpAgentReader } from './amp-agent.ts';
import { createClaudeAgentReader } from './claude-agent.ts';
import { createCodexAgentReader } from './codex-agent.ts';

export type AgentName = 'claude' | 'codex' | 'amp';

/** Turns an agent's output, as bytes or text, into events that all agents share. */
export interface AgentParser extends ByteReader<AgentEvent> {
  readonly agent: AgentName;
}

export interface AgentParserOptions extends LiveLineDecoderOptions {
  /** The time, in milliseconds since 1970. */
  now: () => number;
}

const READERS: Record<AgentName, (now: () => number) => StreamReader<AgentEvent>> = {
  claude: createClaudeAgentReader,
  codex: createCodexAgentReader,
  amp: createAmpAgentReader,
};

/** The agent that a command starts, by the base name of its path: any case, `.exe` cut. Undefined for others. */
export function agentOf(command: string): AgentName | undefined {
  const baseName = command.trim().split(/[/\\]/).at(-1) ?? '';
  const name = baseName.toLowerCase().replace(/\.exe$/, '');
  return Object.hasOwn(READERS, name) ? (name as AgentName) : undefined;
}

/** A new parser for the output of the agent that the command starts; undefined where it starts none known here. */
export function parserFor(command: string, options: AgentParserOptions): AgentParser | undefined {
  const agent = agentOf(command);
  return agent && { agent, ...createByteReader(READERS[agent](options.now), options) };
}
