import { describe, expect, it, vi } from 'vitest';
import { toFilterQuery } from './report-query.ts';

const place = { workingDirectory: '/home/ada/app', nowMs: Date.parse('2026-03-29T20:00:00Z') };

describe('toFilterQuery', () => {
  it('passes filters on unchanged', () => {
    const options = {
      from: '2026-03-01',
      to: '2026-03-02T12:00Z',
      tz: 'Europe/Berlin',
      branch: ['main', 'fix'],
      session: 's',
    };
    expect(toFilterQuery({ ...options, subagents: true }, place)).toMatchObject({
      from: '2026-03-01',
      to: '2026-03-02T12:00Z',
      time_zone: 'Europe/Berlin',
      git_branch: ['main', 'fix'],
      session_id: 's',
      subagents: undefined,
    });
  });

  it('counts days back from the date in the time zone', () => {
    const from = (tz: string, text: string) => toFilterQuery({ tz, from: text, subagents: true }, place).from;
    expect(from('UTC', '0d')).toBe('2026-03-29');
    expect(from('UTC', '7d')).toBe('2026-03-22');
    expect(from('Asia/Kathmandu', '2w')).toBe('2026-03-16');
  });

  it('uses the machine’s time zone by default', () => {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
    expect(toFilterQuery({ subagents: true }, place).time_zone).toBe(timeZone);
  });

  it('treats a machine’s GMT as UTC', () => {
    const options = { ...new Intl.DateTimeFormat().resolvedOptions(), timeZone: '+00:00' };
    const spy = vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions').mockReturnValue(options);
    try {
      expect(toFilterQuery({ subagents: true }, place).time_zone).toBe('UTC');
    } finally {
      spy.mockRestore();
    }
  });

  it('resolves a relative project against the user’s directory', () => {
    const project = (text: string) => toFilterQuery({ project: [text, 'b'], subagents: true }, place).project;
    expect(project('.')).toEqual(['/home/ada/app', 'b']);
    expect(project('../lib')).toEqual(['/home/ada/lib', 'b']);
    expect(project('/srv/app')).toEqual(['/srv/app', 'b']);
    expect(project('C:\\app')).toEqual(['C:\\app', 'b']);
  });

  it('accepts sub-agents excluded, included or alone, but not excluded and alone', () => {
    expect(toFilterQuery({ subagents: false }, place).subagents).toBe('exclude');
    expect(toFilterQuery({ subagents: true, onlySubagents: true }, place).subagents).toBe('only');
    expect(() => toFilterQuery({ subagents: false, onlySubagents: true }, place)).toThrow('exclude each other');
    expect(() => toFilterQuery({ subagents: true, tz: 'Mars/Base', from: '7d' }, place)).toThrow('not a time zone');
  });
});
