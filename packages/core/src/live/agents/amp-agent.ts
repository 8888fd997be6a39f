import { readObject } from '../../records/fields.ts';
import type { JsonValue } from '../../rows.ts';
import type { StreamReader } from '../stream-reader.ts';
import type { AgentEvent } from './agent-event.ts';
import { createClaudeAgentReader } from './claude-agent.ts';

/** Amp writes the shape of Claude Code, without ids of messages, models and costs. */
export function createAmpAgentReader(now: () => number): StreamReader<AgentEvent> {
  return createClaudeAgentReader(now, readAmpOutput);
}

/** Amp's tools answer in JSON: a command's output stands beside its exit code, and a failed one is no error to Amp. */
function readAmpOutput(content: string, isError: boolean): { output: string; error: string | null } {
  const answer = content.startsWith('{') ? readObject(parseJson(content)) : undefined;
  const output = typeof answer?.output === 'string' ? answer.output : content;
  const hasFailed = isError || (typeof answer?.exitCode === 'number' && answer.exitCode !== 0);
  return { output, error: hasFailed ? output : null };
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // Plain text that begins with a brace.
    return undefined;
  }
}
