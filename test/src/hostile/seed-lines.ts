import { globSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { readSources } from '@recount/storage/sources';

/** From each transcript, so that a long one does not crowd out the others. */
const MAX_LINES_PER_TRANSCRIPT = 400;
/** A longer line would take most of the time of a run. */
const MAX_LINE_BYTES = 24 * 1024;
/** Reading larger ones would take more memory than what is measured. */
const MAX_TRANSCRIPT_BYTES = 4_000_000;
const GENERATED_BYTES = 2_000_000;

/**
 * Lines to mutate, from an invented transcript, the streams of three agents, and, if it exists, those archives of the
 * corpus that are small enough. At most `maxBytes`.
 */
export async function readSeedLines(
  corpus: string | undefined,
  { maxArchiveBytes, maxBytes }: { maxArchiveBytes: number; maxBytes: number },
): Promise<Buffer[]> {
  const lines = [...splitLines(Buffer.concat([...generateTranscript({ seed: 1, targetBytes: GENERATED_BYTES })]))];
  for (const line of STREAM_LINES) lines.push(Buffer.from(JSON.stringify(line)));
  let bytes = lines.reduce((sum, line) => sum + line.length, 0);
  const archives = corpus === undefined ? [] : globSync('*.tar.gz', { cwd: corpus }).sort();
  for (const name of archives) {
    const path = join(corpus ?? '', name);
    if ((await stat(path)).size > maxArchiveBytes) continue;
    for await (const item of readSources([path])) {
      if (item.kind !== 'transcript' || bytes > maxBytes || (item.sizeBytes ?? 0) > MAX_TRANSCRIPT_BYTES) continue;
      for (const line of splitLines(await buffer(await item.open()))) {
        // Copied, because a view would keep the whole transcript in memory.
        lines.push(Buffer.from(line));
        bytes += line.length;
      }
    }
  }
  return lines;
}

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf('\n', start) === -1 ? bytes.length : bytes.indexOf('\n', start);
    if (end > start && end - start <= MAX_LINE_BYTES) lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  const step = Math.max(1, Math.ceil(lines.length / MAX_LINES_PER_TRANSCRIPT));
  return lines.filter((_line, index) => index % step === 0);
}

/** Kinds of lines that only running agents write. The live readers know all kinds, the parser some. */
const STREAM_LINES: readonly object[] = [
  { type: 'system', subtype: 'init', session_id: 's', tools: ['Read'], model: 'claude-opus-4-8', cwd: '/srv' },
  {
    type: 'stream_event',
    session_id: 's',
    event: { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 3, output_tokens: 1 } } },
  },
  {
    type: 'stream_event',
    session_id: 's',
    event: { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't1', name: 'Read' } },
  },
  {
    type: 'stream_event',
    session_id: 's',
    event: { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a' } },
  },
  {
    type: 'stream_event',
    session_id: 's',
    parent_tool_use_id: 't1',
    event: { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 42 } },
  },
  {
    type: 'result',
    subtype: 'success',
    session_id: 's',
    total_cost_usd: 0.5,
    usage: { input_tokens: 10, output_tokens: 60 },
    permission_denials: [{ tool_name: 'Write', tool_use_id: 't9', tool_input: {} }],
  },
  { type: 'thread.started', thread_id: 'thread-1' },
  { type: 'item.started', item: { id: 'i1', type: 'command_execution', command: 'ls', status: 'in_progress' } },
  {
    type: 'item.completed',
    item: { id: 'i1', type: 'command_execution', command: 'ls', aggregated_output: 'a', exit_code: 0 },
  },
  { type: 'item.completed', item: { id: 'i2', type: 'agent_message', text: 'Zwei 🎉' } },
  { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 20 } },
  { type: 'turn.failed', error: { message: 'no' } },
];
