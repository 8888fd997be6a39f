import { readObject } from '../../records/fields.ts';
import { toModel } from '../../records/new-records.ts';
import type { BlockContent } from '../../records/records.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { type ClaudeCodeReaderState, createClaudeCodeReader } from '../claude-code/reader.ts';
import { parseJsonText } from '../reader-kit.ts';

/** Amp's stream has the shape of Claude Code's, but no message ids, models or costs. */
export function createAmpReader(context: ReaderContext, state?: ClaudeCodeReaderState): Reader {
  const reader = createClaudeCodeReader(context, state);
  return {
    state: reader.state,
    read(value, line) {
      const read = reader.read(value, line);
      for (const record of read.records) {
        if (record.kind !== 'message') continue;
        record.model = toModel(record);
        record.blocks.forEach(readOutput);
      }
      return read;
    },
  };
}

/**
 * Amp's tools return JSON: a command's output comes with its exit code, and Amp does not mark failed commands as
 * errors.
 */
function readOutput(block: BlockContent): void {
  const text = block.result_text;
  if (block.toolResult === undefined || !text?.startsWith('{')) return;
  const answer = readObject(parseJsonText(text));
  if (typeof answer?.output === 'string') block.result_text = answer.output;
  if (typeof answer?.exitCode === 'number' && answer.exitCode !== 0) block.toolResult.isError = true;
}
