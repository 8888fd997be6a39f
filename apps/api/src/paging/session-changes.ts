import {
  countChangedLines,
  type Edit,
  MAX_CHANGED_FILES,
  type SessionChanges,
  toEdits,
  toPatchEdits,
  toPatchedFiles,
} from '@recount/contract';
import { readUncutLength } from '@recount/core';
import { type Database, type EditCall, type RowSetKey, readEdits } from '@recount/db';

const EDITS_PER_READ = 1000;
/** Bytes of tool inputs in one read. An input of empty objects takes twenty times its bytes in memory. */
const BYTES_PER_READ = 1024 * 1024;
/** Characters of different paths in memory, and a hundred for each path. The contract says what `is_cut` means. */
const MAX_PATHS_LENGTH = 8 * 1024 * 1024;

type Changes = Omit<SessionChanges, 'session_id' | 'transcript_id'>;
type FileChanges = Changes['by_file'][number];

/** The changes that the edits of a transcript added to and removed from files, according to their inputs. */
export async function readSessionChanges(database: Database, rowSet: RowSetKey): Promise<Changes> {
  const byFile = new ChangedFiles();
  const totals = { edits: 0, lines_added: 0, lines_removed: 0, whole_file_edits: 0, unknown_edits: 0 };
  for (let page: EditCall[] = []; ; ) {
    const range = { afterNumber: page.at(-1)?.call_number, limit: EDITS_PER_READ, maxBytes: BYTES_PER_READ };
    page = await readEdits(database, rowSet, range);
    if (page.length === 0) break;
    for (const { file_path: calledPath, tool_input: input } of page) {
      const whole = hasCutText(input) ? undefined : input;
      const edits = [...toEdits(whole), ...toPatchEdits(whole)];
      totals.edits += 1;
      if (edits.length === 0) totals.unknown_edits += 1;
      if (edits.some(({ isWholeFile }) => isWholeFile)) totals.whole_file_edits += 1;
      // A patch has no lines of the files that it deletes or only moves.
      const patched = toPatchedFiles(whole).map(({ path }) => path);
      const paths = [...edits.map(({ path }) => path ?? calledPath), ...patched];
      // Several paths beyond the limit are one file here.
      for (const file of new Set((paths.length === 0 ? [calledPath] : paths).map((path) => byFile.get(path))))
        file.edits += 1;
      for (const edit of edits) addLines(edit, [totals, byFile.get(edit.path ?? calledPath)]);
    }
  }
  return {
    ...totals,
    files: byFile.all.filter(({ file_path: path }) => path !== null).length,
    by_file: toList(byFile),
    is_cut: byFile.isCut,
  };
}

/** The files with the most lines, and always the one for paths beyond the limit. */
function toList({ all, isCut }: ChangedFiles): FileChanges[] {
  const lines = (file: FileChanges): number => file.lines_added + file.lines_removed;
  const list = all.sort((a, b) => lines(b) - lines(a));
  const others = isCut ? list.slice(MAX_CHANGED_FILES).filter(({ file_path: path }) => path === null) : [];
  return [...list.slice(0, MAX_CHANGED_FILES - others.length), ...others];
}

/** Texts of very long lines are cut before they are parsed, and end with a mark. */
function hasCutText(value: unknown): boolean {
  if (typeof value === 'string') return readUncutLength(value) !== undefined;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasCutText);
}

class ChangedFiles {
  readonly #files = new Map<string | null, FileChanges>();
  #pathsLength = 0;
  #isCut = false;

  get(path: string | null): FileChanges {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    if (path !== null && this.#pathsLength >= MAX_PATHS_LENGTH) {
      this.#isCut = true;
      return this.get(null);
    }
    this.#pathsLength += (path?.length ?? 0) + 100;
    const file = { file_path: path, edits: 0, lines_added: 0, lines_removed: 0 };
    this.#files.set(path, file);
    return file;
  }

  get all(): FileChanges[] {
    return [...this.#files.values()];
  }

  get isCut(): boolean {
    return this.#isCut;
  }
}

function addLines(edit: Edit, sums: readonly Pick<FileChanges, 'lines_added' | 'lines_removed'>[]): void {
  const { added, removed } = countChangedLines(edit);
  for (const sum of sums) {
    sum.lines_added += added;
    sum.lines_removed += removed;
  }
}
