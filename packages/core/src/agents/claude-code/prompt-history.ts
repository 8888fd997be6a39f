import type { JsonObject } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import type { Format, Reader, ReaderContext } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { createReaderKit, toSessionRecord } from '../reader-kit.ts';
import type { PromptHistory } from '../session-places.ts';

export const PROMPTS_FORMAT = 'claude-code-prompts';

/**
 * `~/.claude/history.jsonl` has every prompt of every session. Claude Code keeps it when it deletes transcripts after
 * 30 days.
 */
export const claudeCodePromptHistory: PromptHistory = {
  file: 'history.jsonl',
  isLine: (line) => typeof line.display === 'string' && !('type' in line) && !('message' in line),
  session: 'sessionId',
  time: 'timestamp',
  transcripts: 'projects/*/*.jsonl',
};

/** One session's prompts from that file, after a header, as `packages/collect` writes them. */
export const promptsFormat: Format = {
  ...toCanonicalFormat('claude-code', createPromptsReader),
  id: PROMPTS_FORMAT,
  // Later versions have more lines at the end, or fewer at the beginning. Neither loses lines that an earlier version
  // has.
  isRewritten: false,
  lacksUsage: true,
};

/** Reads what was typed. Answers and usage are not in this file. */
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

/**
 * The typed text, with pasted text in place of its placeholder if the line has it. Newer versions store long pastes
 * elsewhere.
 */
function toPrompt(line: JsonObject): string {
  const pasted = readObject(line.pastedContents);
  let marks = 0;
  return (readText(line.display) ?? '').replace(PASTED_MARK, (mark, number: string) => {
    const content = marks++ < MAX_MARKS ? readText(readObject(pasted?.[number])?.content) : null;
    return content ?? mark;
  });
}
