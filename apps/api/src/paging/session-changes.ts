import {
  countChangedLines,
  type Edit,
  MAX_CHANGED_FILES,
  type SessionChanges,
  toEdits,
  toPatchEdits,
} from '@recount/contract';
import { readUncutLength } from '@recount/core';
import { type Database, type EditCall, type RowSetKey, readEdits } from '@recount/db';

/** Inputs may be as large as a row allows: 100 of them are at most a few megabytes. */
const EDITS_PER_READ = 100;

type Changes = Omit<SessionChanges, 'session_id' | 'transcript_id'>;
type FileChanges = Changes['by_file'][number];

/** The changes that the edits of a transcript added to and removed from files, according to their inputs. */
export async function readSessionChanges(database: Database, rowSet: RowSetKey): Promise<Changes> {
  const byFile = new Map<string | null, FileChanges>();
  const totals = { edits: 0, lines_added: 0, lines_removed: 0, whole_file_edits: 0, unknown_edits: 0 };
  for (let page: EditCall[] = []; ; ) {
    page = await readEdits(database, rowSet, { afterNumber: page.at(-1)?.call_number, limit: EDITS_PER_READ });
    for (const { file_path: calledPath, tool_input: input } of page) {
      const edits = hasCutText(input) ? [] : [...toEdits(input), ...toPatchEdits(input)];
      totals.edits += 1;
      if (edits.length === 0) totals.unknown_edits += 1;
      if (edits.some(({ isWholeFile }) => isWholeFile)) totals.whole_file_edits += 1;
      const paths = new Set([calledPath, ...edits.flatMap(({ path }) => path ?? [])]);
      for (const path of paths) fileOf(byFile, path).edits += 1;
      for (const edit of edits) addLines(edit, [totals, fileOf(byFile, edit.path ?? calledPath)]);
    }
    if (page.length < EDITS_PER_READ) break;
  }
  const lines = (file: FileChanges): number => file.lines_added + file.lines_removed;
  return {
    ...totals,
    files: [...byFile.keys()].filter((path) => path !== null).length,
    by_file: [...byFile.values()].sort((a, b) => lines(b) - lines(a)).slice(0, MAX_CHANGED_FILES),
  };
}

/** Texts of very long lines are cut before they are parsed, and end with a mark. */
function hasCutText(value: unknown): boolean {
  if (typeof value === 'string') return readUncutLength(value) !== undefined;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasCutText);
}

function fileOf(byFile: Map<string | null, FileChanges>, path: string | null): FileChanges {
  const known = byFile.get(path);
  if (known !== undefined) return known;
  const file = { file_path: path, edits: 0, lines_added: 0, lines_removed: 0 };
  byFile.set(path, file);
  return file;
}

function addLines(edit: Edit, sums: readonly Pick<FileChanges, 'lines_added' | 'lines_removed'>[]): void {
  const { added, removed } = countChangedLines(edit);
  for (const sum of sums) {
    sum.lines_added += added;
    sum.lines_removed += removed;
  }
}
