import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, parseTranscript } from '@recount/core';
import { readSources } from '@recount/storage/sources';
import { expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

const corpus = findCorpus();

/** Every issue of the corpus by format and code, with the number of files. docs/accuracy.md explains each. */
const EXPLAINED = {
  'claude-code invalid_json': { occurrences: 10, files: 5 },
  'claude-code invalid_timestamp': { occurrences: 45, files: 1 },
  'claude-code invalid_usage': { occurrences: 15, files: 1 },
  'claude-code missing_field': { occurrences: 10, files: 5 },
  'claude-code missing_final_newline': { occurrences: 1, files: 1 },
  'claude-code replaced_characters': { occurrences: 23_386, files: 1 },
  'claude-code unknown_usage': { occurrences: 1, files: 1 },
  'claude-code unsupported_version': { occurrences: 1, files: 1 },
  'codex-exec missing_final_newline': { occurrences: 1, files: 1 },
  'codex-exec unknown_line_type': { occurrences: 6, files: 3 },
  'codex-exec unread_content': { occurrences: 2, files: 1 },
  'codex-rollout invalid_timestamp': { occurrences: 92, files: 1 },
  'codex-rollout invalid_usage': { occurrences: 1, files: 1 },
  'codex-rollout missing_final_newline': { occurrences: 6, files: 6 },
  'codex-rollout uncounted_response': { occurrences: 1, files: 1 },
  'codex-rollout unknown_line_type': { occurrences: 12, files: 5 },
  'codex-rollout unread_content': { occurrences: 6, files: 3 },
  'copilot-cli invalid_timestamp': { occurrences: 16, files: 1 },
};

it.runIf(corpus)('reads every file of the corpus with the explained issues, and no other', async () => {
  const folder = corpus ?? '';
  const archives = readdirSync(folder).filter((name) => name.endsWith('.tar.gz'));
  const found: Record<string, { occurrences: number; files: number }> = {};
  for await (const item of readSources(archives.map((name) => join(folder, name)))) {
    if (item.kind !== 'transcript') throw new Error(`Not read: ${item.location}`);
    const bytes = Buffer.concat(await (await item.open()).toArray());
    const head = bytes.subarray(0, IDENTIFY_HEAD_BYTES);
    const { format, sessionId = 'session' } = identifyTranscript({ head, path: item.path });
    expect([item.location, format]).not.toEqual([item.location, undefined]);
    const { errors, warnings, notices } = await parseTranscript(sessionId, bytes, { format });
    const inFile = new Set<string>();
    for (const { code, count } of [...errors, ...warnings, ...notices]) {
      const name = `${format} ${code}`;
      const { occurrences, files } = found[name] ?? { occurrences: 0, files: 0 };
      found[name] = { occurrences: occurrences + count, files: files + (inFile.has(name) ? 0 : 1) };
      inFile.add(name);
    }
  }
  expect(found).toEqual(EXPLAINED);
});
