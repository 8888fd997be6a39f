/** A text that a tool call takes out of a file, and what it puts in its place. */
export interface Edit {
  before: string;
  after: string;
  /** Of patches, which may be of several files. */
  path?: string;
  /** `after` is the whole file: what it replaces is not in the call. */
  isWholeFile?: true;
}

const BEFORE_FIELDS = ['old_string', 'oldString', 'old_str'];
const AFTER_FIELDS = ['new_string', 'newString', 'new_str'];
const WHOLE_FIELDS = ['content', 'file_text'];
const PATCH_FIELDS = ['input', 'patch', 'patchText', 'patch_text'];

/** Texts that an edit takes out and puts in, in their order; none if its input holds no edit that is known. */
export function toEdits(input: unknown): Edit[] {
  if (typeof input !== 'object' || input === null) return [];
  const fields = input as Record<string, unknown>;
  if (Array.isArray(fields.edits)) return fields.edits.flatMap(toEdits);
  const text = (names: readonly string[]): string | undefined =>
    names.map((name) => fields[name]).find((value) => typeof value === 'string');
  const before = text(BEFORE_FIELDS);
  const after = text(AFTER_FIELDS);
  if (after !== undefined) return [{ before: before ?? '', after }];
  const whole = text(WHOLE_FIELDS);
  return whole === undefined ? [] : [{ before: before ?? '', after: whole, isWholeFile: true }];
}

const PATCH_START = /^\s*\*\*\* Begin Patch\r?\n/;
const PATCHED_FILE = /^\*\*\* (?:Add|Update) File: (.+)$/;

/**
 * The hunks of a patch in the form of OpenAI's apply_patch: `*** Update File: path`, then lines that begin with `+`, `-` or a space,
 * divided by `@@`. None for any other input, nor for files that it deletes.
 */
export function toPatchEdits(input: unknown): Edit[] {
  const patch = toPatch(input);
  if (patch === undefined) return [];
  const edits: Edit[] = [];
  let path: string | undefined;
  let hunk = { before: '', after: '' };
  const endHunk = (): void => {
    if (path !== undefined && hunk.before !== hunk.after) edits.push({ ...hunk, path });
    hunk = { before: '', after: '' };
  };
  for (const line of patch.split(/\r?\n/)) {
    if (line.startsWith('***') || line.startsWith('@@')) {
      endHunk();
      if (/^\*\*\* \w+ File: /.test(line)) path = PATCHED_FILE.exec(line)?.[1]?.trim();
      continue;
    }
    const text = `${line.slice(1)}\n`;
    if (!line.startsWith('+')) hunk.before += text;
    if (!line.startsWith('-')) hunk.after += text;
  }
  endHunk();
  return edits;
}

function toPatch(input: unknown): string | undefined {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  return [input, ...PATCH_FIELDS.map((name) => fields[name])].find(
    (value) => typeof value === 'string' && PATCH_START.test(value),
  ) as string | undefined;
}

/**
 * How many lines an edit puts in and takes out. Lines that stand in both texts count as neither, wherever they stand: one that is moved
 * within the edit is no change. Takes time in proportion to the texts, unlike a diff.
 */
export function countChangedLines({ before, after }: Pick<Edit, 'before' | 'after'>): {
  added: number;
  removed: number;
} {
  const surplus = new Map<string, number>();
  for (const line of toLines(after)) surplus.set(line, (surplus.get(line) ?? 0) + 1);
  for (const line of toLines(before)) surplus.set(line, (surplus.get(line) ?? 0) - 1);
  let added = 0;
  let removed = 0;
  for (const count of surplus.values()) {
    if (count > 0) added += count;
    else removed -= count;
  }
  return { added, removed };
}

const toLines = (text: string): string[] => (text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/));
