import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findNearest, matchName } from './match-name.ts';

const PROJECTS = [
  '/home/maya/code/billing-service',
  '/home/maya/code/billing-service/web',
  '/home/maya/code/harbor-docs',
  '/home/ben/code/ledger',
  '/srv/ledger',
];
const MODELS = ['claude-opus-4-1-20250805', 'claude-sonnet-4-5-20250929', 'claude-sonnet-4-20250514', 'gpt-5.2'];

describe('matchName', () => {
  it.each([
    ['/srv/ledger', '/srv/ledger'],
    ['billing-service', '/home/maya/code/billing-service'],
    ['Billing-Service/', '/home/maya/code/billing-service'],
    ['code/billing-service', '/home/maya/code/billing-service'],
    ['web', '/home/maya/code/billing-service/web'],
    ['harbor', '/home/maya/code/harbor-docs'],
    ['ben', '/home/ben/code/ledger'],
    ['/srv', '/srv/ledger'],
    ['…ben/code/ledger', '/home/ben/code/ledger'],
    ['harbor-d…', '/home/maya/code/harbor-docs'],
  ])('finds the project %s', (wanted, name) => {
    expect(matchName(wanted, PROJECTS)).toEqual({ names: [name], nearest: [] });
  });

  it.each([
    ['opus', 'claude-opus-4-1-20250805'],
    ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
    ['GPT', 'gpt-5.2'],
    ['claude-sonnet-4-5-20250…', 'claude-sonnet-4-5-20250929'],
    ['claude…0805', 'claude-opus-4-1-20250805'],
  ])('finds the model %s', (wanted, name) => {
    expect(matchName(wanted, MODELS)).toEqual({ names: [name], nearest: [] });
  });

  it('means all names that match equally well', () => {
    expect(matchName('ledger', PROJECTS).names).toEqual(['/home/ben/code/ledger', '/srv/ledger']);
    expect(matchName('sonnet', MODELS).names).toEqual([MODELS[1], MODELS[2]]);
    const many = Array.from({ length: 200 }, (_, index) => `/code/ledger-${index}`);
    expect(matchName('ledger', many).names).toEqual(many);
  });

  it('suggests what resembles a misspelling, and nothing else', () => {
    expect(matchName('biling-servce', PROJECTS)).toEqual({ names: [], nearest: [PROJECTS[0], PROJECTS[1]] });
    expect(matchName('claude-opsu', MODELS)).toMatchObject({
      names: [],
      nearest: expect.arrayContaining([MODELS[0]]),
    });
    expect(matchName('zzzz', PROJECTS)).toEqual({ names: [], nearest: [] });
    expect(matchName('anything', [])).toEqual({ names: [], nearest: [] });
  });

  it('returns existing names, whatever is typed', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.array(fc.string({ minLength: 1 })),
        (wanted, names) => {
          const match = matchName(wanted, [...names, ...PROJECTS]);
          for (const name of [...match.names, ...match.nearest]) expect([...names, ...PROJECTS]).toContain(name);
          if (names.includes(wanted)) expect(match.names).toEqual([wanted]);
        },
      ),
    );
  });
});

it('ranks the nearest first', () => {
  expect(findNearest('harbour-docs', PROJECTS)[0]).toBe('/home/maya/code/harbor-docs');
});

it('compares long texts by their ends, in a time that grows with their length only', () => {
  const names = Array.from({ length: 300 }, (_, index) => `/${'ab'.repeat(2000)}/team-${index}/harbor-docs`);
  expect(findNearest(`${'ba…'.repeat(1300)}/team-7/harbour-docs`, names)).toContain(names[7]);
});
