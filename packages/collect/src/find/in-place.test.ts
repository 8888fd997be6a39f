import { expect, it } from 'vitest';
import { isInPlace } from './in-place.ts';

it('knows the places of agents below any home', () => {
  const paths = [
    '/mnt/copy/ada/.pi/agent/sessions/--app--/one.jsonl',
    '/h/.codex/sessions/2026/05/07/rollout-2026-05-07T01-00-00-0199812e-0000-7000-8000-000000000001.jsonl',
    '/h/.gemini/tmp/app/chats/session-2026-04-19T19-26-aaaaaaaa.json',
    '/h/.cline/data/sessions/1/1.messages.json.gz',
    'C:\\Users\\ada\\.copilot\\session-state\\c1\\events.jsonl',
    '/h/.local/share/opencode/opencode.db',
    '/h/.openclaw-work/agents/main/sessions/one.jsonl',
  ];
  expect(paths.filter((path) => !isInPlace(path))).toEqual([]);
});

it('leaves out files elsewhere, and files beside sessions that are not collected', () => {
  const paths = [
    '/h/notes/one.jsonl',
    '/h/x.pi/agent/sessions/--app--/one.jsonl',
    '/h/.gemini/tmp/app/logs.json',
    '/h/.cline/data/sessions/1/1.json',
    '/h/.openclaw/agents/main/sessions/one.trajectory.jsonl',
  ];
  expect(paths.filter(isInPlace)).toEqual([]);
});
