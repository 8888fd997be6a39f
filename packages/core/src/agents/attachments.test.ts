import { describe, expect, it } from 'vitest';
import { findAttachmentReference, identifyAttachment, toAttachmentKind } from './attachments.ts';

const SESSION = '0b8f2a51-7c1d-4f0e-9a63-000000000001';
const FOLDER = `/home/ada/.claude/projects/-home-ada-app/${SESSION}`;

describe('identifyAttachment', () => {
  it.each([
    ['tool-results/toolu_01.txt', 'tool_result'],
    ['tool-results/mcp-files-list-1769680083842.json', 'tool_result'],
    ['subagents/agent-a1.meta.json', 'subagent'],
    ['subagents/workflows/wf_1-2/agent-a1.meta.json', 'subagent'],
    ['subagents/workflows/wf_1-2/journal.jsonl', 'workflow'],
    ['workflows/wf_1-2.json', 'workflow'],
    ['workflows/scripts/census-wf_1-2.js', 'workflow'],
  ])('recognises %s', (path, kind) => {
    const found = { agent: 'claude-code', sessionId: SESSION, path, kind };
    expect(identifyAttachment(`${FOLDER}/${path}`)).toEqual(found);
    const onWindows = `C:\\Users\\ada\\projects\\config\\projects\\C--app\\${SESSION}\\${path.replaceAll('/', '\\')}`;
    expect(identifyAttachment(onWindows)).toEqual(found);
    for (const before of ['', './-home-ada-app/', '2026/laptop/-home-ada-app/']) {
      expect(identifyAttachment(`${before}${SESSION}/${path}`)).toEqual(found);
    }
    expect(toAttachmentKind('claude-code', path)).toBe(kind);
    expect(toAttachmentKind('codex', path)).toBeUndefined();
  });

  it.each([
    `${FOLDER}.jsonl`,
    `${FOLDER}/subagents/agent-a1.jsonl`,
    `${FOLDER}/subagents/workflows/wf_1/agent-a1.jsonl`,
    `${FOLDER}/session-memory/summary.md`,
    '/home/ada/app/tool-results/x.txt',
    `/home/ada/${SESSION}/app/workflows/x.json`,
  ])('does not recognise %s', (path) => {
    expect(identifyAttachment(path)).toBeUndefined();
  });
});

describe('toAttachmentKind', () => {
  it.each([
    '../settings.json',
    'tool-results/../../../settings.json',
    'tool-results/..',
    'tool-results//x.txt',
    '/tool-results/x.txt',
    'tool-results/..\\..\\x.txt',
    'tool-results/x.txt:stream',
    'tool-results/x\n.txt',
    'tool-results/x.txt.',
    `tool-results/${'x'.repeat(300)}.txt`,
    'tool-results/',
    'settings.json',
    '',
  ])('refuses %j', (path) => {
    expect(toAttachmentKind('claude-code', path)).toBeUndefined();
  });
});

describe('findAttachmentReference', () => {
  const reference = { sessionId: SESSION, path: 'tool-results/toolu_01.txt' };
  it.each([
    `<persisted-output>\nOutput too large (141KB). Full output saved to: ${FOLDER}/tool-results/toolu_01.txt\n\nPreview (first 2KB):\nx`,
    `Error: result (99,999 characters) exceeds maximum allowed tokens. Output has been saved to ${FOLDER}/tool-results/toolu_01.txt.\nFormat: x`,
    `Output too large (34.3KB). Full output saved to: C:\\Users\\a b\\.claude\\projects\\H--x\\${SESSION}\\tool-results\\toolu_01.txt\n`,
  ])('reads %j', (text) => {
    expect(findAttachmentReference('claude-code', text)).toEqual(reference);
    expect(findAttachmentReference('codex', text)).toBeUndefined();
  });

  it.each([
    'Full output saved to: /tmp/out.txt',
    `see ${FOLDER}/tool-results/toolu_01.txt`,
    `Full output saved to: ${FOLDER}/tool-results/../../../settings.json`,
    `${'x'.repeat(5000)}Full output saved to: ${FOLDER}/tool-results/toolu_01.txt`,
  ])('finds nothing in %j', (text) => {
    expect(findAttachmentReference('claude-code', text)).toBeUndefined();
  });
});
