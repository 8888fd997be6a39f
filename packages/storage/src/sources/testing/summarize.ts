import { buffer } from 'node:stream/consumers';
import { type ReadSourcesOptions, readSources } from '../read-sources.ts';
import { SourceError } from '../source-error.ts';
import type { SourceItem } from '../source-item.ts';

/**
 * Reads everything; returns one line for each item, such as `a.jsonl = text`, `a.jsonl ! truncated`, `skipped b.txt
 * link`.
 */
export async function summarize(paths: readonly string[], options: ReadSourcesOptions = {}): Promise<string[]> {
  const lines: string[] = [];
  for await (const item of readSources(paths, options)) lines.push(await summarizeItem(item, paths[0] ?? ''));
  return lines;
}

async function summarizeItem(item: SourceItem, root: string): Promise<string> {
  const place = item.location.replace(root, '').replace(/^\//, '');
  if (item.kind === 'skipped') return `skipped ${place} ${item.reason}`;
  if (item.kind === 'failed') return `failed ${place} ${item.error.code}`;
  try {
    return `${place} = ${(await buffer(await item.open())).toString()}`;
  } catch (error) {
    if (error instanceof SourceError) return `${place} ! ${error.code}`;
    throw error;
  }
}
