import { RUNNABLE_AGENTS, type RunnableAgent } from '../agents/formats.ts';
import { toOptionsEnd } from '../agents/option-position.ts';
import type { AgentEvent } from './live-event.ts';
import { LiveLineDecoder, type LiveLineDecoderOptions } from './live-line-decoder.ts';
import { LiveReader } from './live-reader.ts';
import type { StreamSummary } from './stream-summary.ts';

/** Turns an agent's output, as bytes or text, into events that all agents share. */
export interface AgentParser {
  /** Id of the agent, e.g. `claude-code`. */
  readonly agent: string;
  /** The events of the lines that the bytes complete (none or several). A partial line stays for later. */
  push(bytes: Uint8Array | string): AgentEvent[];
  /** The events of a last line without a line feed, and those still waiting. To be called once. */
  finish(): AgentEvent[];
  /**
   * Events that were waiting for a later line, such as a tool's start, and are now due. Call it now and then while no
   * bytes come; `push` returns them too.
   */
  poll(): AgentEvent[];
  /** May be called at any time. */
  toSummary(): StreamSummary;
}

export interface AgentParserOptions extends LiveLineDecoderOptions {
  /** The time, in milliseconds since 1970. */
  now: () => number;
}

/**
 * The agent that a command starts, by the base name of its path, ignoring case and `.exe`. An agent's id also works.
 */
export function agentOf(command: string): RunnableAgent | undefined {
  const baseName = command.trim().split(/[/\\]/).at(-1) ?? '';
  const name = baseName.toLowerCase().replace(/\.exe$/, '');
  return RUNNABLE_AGENTS.find(({ id, program }) => program.command === name || id === name);
}

/** A new parser for the output of the agent that the command starts; undefined if recount cannot read it. */
export function parserFor(command: string, options: AgentParserOptions): AgentParser | undefined {
  const agent = agentOf(command);
  return agent && createAgentParser(agent, options);
}

/** A new parser for the output of the agent. */
export function createAgentParser(
  agent: Pick<RunnableAgent, 'id' | 'program'>,
  options: AgentParserOptions,
): AgentParser {
  const reader = new LiveReader(agent, options.now);
  const decoder = new LiveLineDecoder(
    { onLine: (line) => reader.read(line), onWarning: (warning) => reader.warn(warning) },
    options,
  );
  return {
    agent: agent.id,
    push(bytes) {
      decoder.push(bytes);
      return reader.takeEvents();
    },
    poll() {
      reader.poll();
      return reader.takeEvents();
    },
    finish() {
      decoder.end();
      reader.finish();
      return reader.takeEvents();
    },
    toSummary: () => reader.toSummary(),
  };
}

/**
 * The options that make an agent print its stream, in addition to its own print mode (`claude -p`, `codex exec`, `amp
 * -x`). A new array, or undefined for a command that starts no known agent. Leaves out options that depend on its other
 * arguments.
 */
export function outputFlags(command: string): string[] | undefined {
  const options = agentOf(command)?.program.outputOptions.filter(({ isTaken }) => isTaken === undefined);
  return options?.flatMap(({ words }) => words);
}

/**
 * The arguments with any missing output flags inserted where the agent accepts them, before a `--`. The user's own
 * arguments stay unchanged and in order. Undefined if the agent would print no stream, because it is unknown, another
 * output format was requested, or the command is one of Codex other than `exec`.
 */
export function withOutputFlags(command: string, args: readonly string[]): string[] | undefined {
  const program = agentOf(command)?.program;
  const index = program?.toOptionIndex(args);
  if (program === undefined || index === undefined) return undefined;
  const given = args.slice(0, toOptionsEnd(args));
  const missing = program.outputOptions.filter(
    ({ spellings, isTaken }) =>
      (isTaken?.(given) ?? true) &&
      !given.some((word) => spellings.some((name) => word === name || word.startsWith(`${name}=`))),
  );
  return [...args.slice(0, index), ...missing.flatMap(({ words }) => words), ...args.slice(index)];
}
