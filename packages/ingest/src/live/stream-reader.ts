import {
  type AgentEvent,
  type AgentParser,
  DEFAULT_MAX_BUFFER_BYTES,
  parserFor,
  type StreamSummary,
} from '@recount/core/live';
import type { LiveFigures, RedactionMode } from '@recount/db';
import { cutName } from './cut-event.ts';

/** A parser for the agent with this id. Throws if its streams cannot be read. */
export function createAgentParser(agent: string, now: () => number): AgentParser {
  const parser = parserFor(agent, { now });
  if (parser === undefined) throw new Error(`No parser for the agent ${agent}`);
  return parser;
}

/** An agent's parser whose events may be shown to readers. One call at a time. */
export interface StreamReader {
  push(bytes: Uint8Array): Promise<AgentEvent[]>;
  /** Events that have now waited long enough. */
  poll(): Promise<AgentEvent[]>;
  finish(): Promise<AgentEvent[]>;
  toSummary(): StreamSummary;
}

interface StreamReaderOptions {
  /** Id of the agent, as in the stream's row. */
  agent: string;
  redaction: RedactionMode;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Progress events with the text so far, or its next piece; the whole text follows. */
const GROWING_TEXTS: ReadonlySet<string> = new Set(['text', 'agent_message', 'reasoning']);

/**
 * If the workspace wants redaction, secrets are removed from whole lines before they are parsed, as in transcripts.
 * Growing texts are then not emitted, because a secret may be spread over several pieces.
 */
export async function createStreamReader({ agent, redaction, now }: StreamReaderOptions): Promise<StreamReader> {
  const parser = createAgentParser(agent, now);
  if (redaction !== 'off') return await createRedactingReader(parser);
  return {
    push: async (bytes) => parser.push(bytes),
    poll: async () => parser.poll(),
    finish: async () => parser.finish(),
    toSummary: parser.toSummary,
  };
}

async function createRedactingReader(parser: AgentParser): Promise<StreamReader> {
  // Loaded on demand, because the rules take 0.1 s to load.
  const { TranscriptRedactor } = await import('../secrets/index.ts');
  const options = { maxLineBytes: DEFAULT_MAX_BUFFER_BYTES, onFinding: () => undefined };
  const lines = new TranscriptRedactor(options);
  const texts = new TranscriptRedactor(options);

  /** A text that never came whole is joined from its pieces, and must be searched for secrets itself. */
  const redactText = async (text: string): Promise<string> => {
    const json = await texts.push(Buffer.from(`${JSON.stringify(text)}\n`));
    return JSON.parse(Buffer.from(json).toString()) as string;
  };
  const redactEvents = async (events: AgentEvent[]): Promise<AgentEvent[]> => {
    const redactedEvents: AgentEvent[] = [];
    for (const event of events) {
      if (event.type === 'progress' && GROWING_TEXTS.has(event.name)) continue;
      if (event.type !== 'text' || !event.wasStreamed) redactedEvents.push(event);
      else redactedEvents.push({ ...event, text: await redactText(event.text), wasStreamed: false });
    }
    return redactedEvents;
  };
  return {
    push: async (bytes) => await redactEvents(parser.push(await lines.push(bytes))),
    poll: async () => await redactEvents(parser.poll()),
    finish: async () => await redactEvents([...parser.push(await lines.finish()), ...parser.finish()]),
    toSummary: parser.toSummary,
  };
}

/** The figures of a stream's row. */
export function toFigures(summary: StreamSummary): LiveFigures {
  return {
    line_count: summary.lineCount,
    warning_count: summary.warningCount,
    agent_session_id: cutName(summary.agentSessionId),
    model: cutName(summary.model),
    ...summary.tokens,
    cost_usd: summary.costUsd,
    stop_reason: cutName(summary.stopReason),
  };
}
