import { describe, expect, it } from 'vitest';
import { readTranscript } from '../../testing/agent-transcripts.ts';
import { addCustomModel, createCustomModels, toRealModel } from './custom-model.ts';

describe('toRealModel', () => {
  it.each([
    ['claude-opus-4-5-20251101', 'claude-opus-4-5-20251101'],
    ['custom:claude-opus-4-5', 'claude-opus-4-5'],
    ['custom:gpt-5', 'gpt-5'],
    ['custom:gpt-5.2(high)', 'gpt-5.2'],
    ['custom:GPT-5.5-0', 'gpt-5.5'],
    ['custom:Claude-Opus-4.5-Thinking-[Anthropic]-0', 'claude-opus-4.5'],
    ['custom:Claude-Sonnet-5.5-[Merge-Gateway]-12', 'claude-sonnet-5.5'],
    ['custom:anthropic/claude-sonnet-5', 'anthropic/claude-sonnet-5'],
    ['custom:', 'custom:'],
    ['custom:[x]-1', 'custom:[x]-1'],
    [null, null],
  ])('reads %s as %s', (name, model) => {
    expect(toRealModel(name)).toBe(model);
  });

  it('takes what the list says, whatever the names look like', () => {
    const models = createCustomModels();
    for (const entry of [
      { model: 'gpt-5.5', id: 'custom:My-Fast-One-0', displayName: 'My Fast One' },
      { model: 'claude-opus-5-5', displayName: 'Big [House]' },
      { displayName: 'no model' },
      7,
    ])
      addCustomModel(models, entry);
    expect(toRealModel('custom:My-Fast-One-0', models)).toBe('gpt-5.5');
    expect(toRealModel('custom:Big-[House]-1', models)).toBe('claude-opus-5-5');
    expect(toRealModel('custom:constructor', models)).toBe('constructor');
    expect(models.count).toBe(4);
  });
});

it('names the real model of a session’s totals, if the list comes before the counts or the name contains it', async () => {
  const settings = {
    customModels: [{ model: 'gpt-5.5', id: 'custom:My-Fast-One-0', displayName: 'My Fast One' }],
    model: 'custom:My-Fast-One-0',
    providerLock: 'openai',
    providerLockTimestamp: '2026-11-01T08:00:00.000Z',
    tokenUsage: { inputTokens: 100, outputTokens: 10, cacheCreationTokens: 0, cacheReadTokens: 0, thinkingTokens: 0 },
  };
  const { customModels, model, ...rest } = settings;
  for (const written of [settings, { model, customModels, ...rest }, { ...rest, model: 'custom:GPT-5.5-3' }]) {
    const read = await readTranscript(JSON.stringify(written, null, 2), '/h/.factory/sessions/-app/s-1.settings.json');
    expect(read.apiResponses.map(({ model }) => model)).toEqual(['gpt-5.5']);
  }
});
