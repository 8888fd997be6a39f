/** A text that a tool call removes from a file, and its replacement. */
export interface Edit {
  before: string;
  after: string;
  /** Set for patches, which may cover several files. */
  path?: string;
  /** `after` is the whole file, because the call does not contain what it replaces. */
  isWholeFile?: true;
}

const BEFORE_FIELDS = ['old_string', 'oldString', 'old_str'];
const AFTER_FIELDS = ['new_string', 'newString', 'new_str'];
const WHOLE_FIELDS = ['content', 'file_text'];
const PATCH_FIELDS = ['input', 'patch', 'patchText', 'patch_text'];

/** The replacements of an edit, in order; none if its input is no known edit. */
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
const PATCHED_FILE = /^\*\*\* (Add|Update|Delete) File: (.+)$/;
const MOVED_FILE = /^\*\*\* Move to: (.+)$/;

/** A patch's changes to one file. */
export interface PatchedFile {
  path: string;
  change: 'add' | 'update' | 'delete';
  /** The file's new path. */
  movedTo?: string;
  /** Empty for a file that is deleted or only moved. */
  hunks: Pick<Edit, 'before' | 'after'>[];
}

/**
 * The files of a patch in the format of OpenAI's apply_patch: `*** Update File: path`, then lines that begin with `+`,
 * `-` or a space, separated by `@@`. None for any other input.
 */
export function toPatchedFiles(input: unknown): PatchedFile[] {
  const patch = toPatch(input);
  if (patch === undefined) return [];
  const files: PatchedFile[] = [];
  let hunk = { before: '', after: '' };
  const endHunk = (): void => {
    const file = files.at(-1);
    if (file !== undefined && file.change !== 'delete' && hunk.before !== hunk.after) file.hunks.push(hunk);
    hunk = { before: '', after: '' };
  };
  for (const line of patch.split(/\r?\n/)) {
    if (line.startsWith('***') || line.startsWith('@@')) {
      endHunk();
      const [, change, path] = PATCHED_FILE.exec(line) ?? [];
      if (change !== undefined && path !== undefined) {
        files.push({ path: path.trim(), change: change.toLowerCase() as PatchedFile['change'], hunks: [] });
      }
      const movedTo = MOVED_FILE.exec(line)?.[1]?.trim();
      const file = files.at(-1);
      if (movedTo !== undefined && file !== undefined) file.movedTo = movedTo;
      continue;
    }
    const text = `${line.slice(1)}\n`;
    if (!line.startsWith('+')) hunk.before += text;
    if (!line.startsWith('-')) hunk.after += text;
  }
  endHunk();
  return files;
}

/** The hunks of `toPatchedFiles`, each with its file. */
export const toPatchEdits = (input: unknown): Edit[] =>
  toPatchedFiles(input).flatMap(({ path, hunks }) => hunks.map((hunk) => ({ ...hunk, path })));

/** A shell command that consists only of a patch, as older versions of Codex wrote it. */
const SHELL_PATCH = /^\s*apply_patch <<\s*(['"]?)(\w+)\1\r?\n([\s\S]*)\r?\n\2\s*$/;

function toPatch(input: unknown): string | undefined {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  const command = Array.isArray(fields.command) ? fields.command.at(-1) : fields.command;
  const shellPatch = typeof command === 'string' ? SHELL_PATCH.exec(command)?.[3] : undefined;
  return [input, ...PATCH_FIELDS.map((name) => fields[name]), shellPatch].find(
    (value) => typeof value === 'string' && PATCH_START.test(value),
  ) as string | undefined;
}

/**
 * The number of lines that an edit adds and removes. Lines that are in both texts count as neither, wherever they are.
 * Moving a line within the edit is no change. Takes linear time, unlike a diff.
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
