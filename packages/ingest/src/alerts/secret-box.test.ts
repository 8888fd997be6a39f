import { describe, expect, it } from 'vitest';
import { createSecretBox, SecretBoxError } from './secret-box.ts';

const KEY = Buffer.alloc(32, 7);
const SECRET = { url: 'https://hooks.example.org/T000/secret' };

describe('a secret box', () => {
  it('opens what it sealed, for the same place', () => {
    const box = createSecretBox(KEY);
    const sealed = box.seal('w/d', SECRET);
    expect(sealed).not.toContain('secret');
    expect(box.open('w/d', sealed)).toEqual(SECRET);
    expect(box.seal('w/d', SECRET)).not.toBe(sealed);
    expect(() => box.open('w/e', sealed)).toThrow(SecretBoxError);
  });

  it('opens nothing that was sealed with another key, changed, cut, or is no such text', () => {
    const box = createSecretBox(KEY);
    const sealed = box.seal('w/d', SECRET);
    const changed = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    expect(() => createSecretBox(Buffer.alloc(32, 8)).open('w/d', sealed)).toThrow(SecretBoxError);
    for (const text of [changed, sealed.slice(0, 20), '', 'v1.', sealed.slice(3)]) {
      expect(() => box.open('w/d', text)).toThrow(SecretBoxError);
    }
  });

  it('needs a key of 32 bytes', () => {
    expect(() => createSecretBox(Buffer.alloc(31))).toThrow(RangeError);
  });
});
