import { describe, expect, it } from 'vitest';
import { toRestoredPath } from './restored-path.ts';

const machine = { platform: 'linux', environment: {}, homeFolder: '/home/bob' };
const toPath = (agent: string, path: string | null, target: { project?: string; folder?: string } = {}) =>
  toRestoredPath(machine, { agent, path, session_id: 'abc' }, target);

describe('toRestoredPath', () => {
  it('is where this machine’s agent looks for it', () => {
    expect(toPath('claude-code', '/home/ada/.claude/projects/-app/abc.jsonl')).toBe(
      '/home/bob/.claude/projects/-app/abc.jsonl',
    );
    expect(toPath('claude-code', 'C:\\Users\\ada\\.claude\\projects\\C--app\\abc\\subagents\\agent-1.jsonl')).toBe(
      '/home/bob/.claude/projects/C--app/abc/subagents/agent-1.jsonl',
    );
    expect(toPath('codex', '/x/.codex/sessions/2026/11/01/rollout-a.jsonl.zst')).toBe(
      '/home/bob/.codex/sessions/2026/11/01/rollout-a.jsonl',
    );
    const reset = '.openclaw/agents/main/sessions/abc.jsonl.reset.2026-11-01T08-00-00.000Z';
    expect(toPath('openclaw', `/home/ada/${reset}.zst`)).toBe(`/home/bob/${reset}`);
  });

  it('uses another folder for a project, or another place', () => {
    const path = '/home/ada/.claude/projects/-app/abc.jsonl';
    expect(toPath('claude-code', path, { project: '/home/bob/my_app' })).toBe(
      '/home/bob/.claude/projects/-home-bob-my-app/abc.jsonl',
    );
    expect(toPath('claude-code', path, { folder: '/tmp/x' })).toBe('/tmp/x/projects/-app/abc.jsonl');
    expect(toPath('claude-code', null, { folder: '/tmp/x' })).toBe('/tmp/x/abc.jsonl');
  });

  it('is undefined for a session that came from a database', () => {
    const folder = '/home/ada/.local/share/goose/sessions';
    expect(toPath('goose', `${folder}/20250101_1.jsonl`)).toBe(
      '/home/bob/.local/share/goose/sessions/20250101_1.jsonl',
    );
    expect(() => toPath('goose', `${folder}/sessions.db/20250101_1.ndjson`)).toThrow('--to');
  });

  it('never leaves its folder, whatever an uploader said', () => {
    for (const path of ['projects/../../.bashrc', 'projects/-app/../../../x.jsonl', 'projects//x', '/etc/passwd', '']) {
      expect(() => toPath('claude-code', path)).toThrow('--to');
    }
  });
});
