import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import type { Format, PromptHistory, Reader, ReaderContext } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { createReaderKit, toSessionRecord } from '../reader-kit.ts';

export const PROMPTS_FORMAT = 'claude-code-prompts';

/** `~/.claude/history.jsonl`: every prompt of every session, kept when transcripts are deleted after 30 days. */
export const claudeCodePromptHistory: PromptHistory = {
  file: 'history.jsonl',
  isLine: (line) => typeof line.display === 'string' && !('type' in line) && !('message' in line),
  session: 'sessionId',
  time: 'timestamp',
  transcripts: 'projects/*/*.jsonl',
};

/** The prompts of one session out of that file, behind a header, as `packages/collect` writes them. */
export const promptsFormat: Format = {
  ...toCanonicalFormat('claude-code', createPromptsReader),
  id: PROMPTS_FORMAT,
  // Later ones have more lines at their end, or fewer at the beginning: neither loses what an earlier one has.
  isRewritten: false,
  lacksUsage: true,
};

/** Reads what somebody typed; what was answered, and what it took, nobody knows. */
function createPromptsReader(context: ReaderContext, state: Record<string, never> = {}): Reader {
  const kit = createReaderKit(context, {});
  return {
    state,
    read(line) {
      if (line.recount === 'session') {
        const session = toSessionRecord({ sessionId: kit.toId(line.session) });
        return { type: 'header', timestampMs: undefined, records: session === undefined ? [] : [session] };
      }
      if (!claudeCodePromptHistory.isLine(line)) return { type: undefined, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp);
      const session = toSessionRecord({ cwd: kit.toId(line.project) });
      const records = kit.toPromptRecords(toPrompt(line), { timestampMs }, null);
      return { type: 'prompt', timestampMs, records: [session ?? [], records].flat() };
    },
  };
}

const PASTED_MARK = /\[Pasted text #(\d+)[^\]]*\]/g;
const MAX_MARKS = 1000;

/** What was typed, with what was pasted in the place of its mark, where the line has it: newer versions keep long texts elsewhere. */
function toPrompt(line: JsonObject): string {
  const pasted = readObject(line.pastedContents);
  let marks = 0;
  return (readText(line.display) ?? '').replace(PASTED_MARK, (mark, number: string) => {
    const content = marks++ < MAX_MARKS ? readText(readObject(pasted?.[number])?.content) : null;
    return content ?? mark;
  });
}
