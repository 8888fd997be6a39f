import { describe, expect, it } from 'vitest';
import type { ProviderSettings } from '../provider-settings.ts';
import { decideAdmission } from './decide-admission.ts';

const SETTINGS: ProviderSettings = {
  ...{ id: 'acme', name: 'Acme', issuer: 'https://id.example', clientId: 'recount', clientSecret: 'secret' },
  ...{ scopes: ['openid'], parameters: {}, workspace: 'default', emailDomains: [] },
  ...{ emailVerifiedClaim: 'email_verified', groupsClaim: 'groups', teams: [], defaultRole: undefined },
  roles: [
    { group: 'admins', role: 'admin' },
    { group: 'staff', role: 'viewer' },
  ],
};
const decide = (claims: object, changes: Partial<ProviderSettings> = {}) =>
  decideAdmission({ ...SETTINGS, ...changes }, claims as Record<string, unknown>);

describe('an account', () => {
  it('has the role of the first line whose group it is in, whatever the order of its groups', () => {
    expect(decide({ groups: ['staff', 'admins'] })).toMatchObject({ role: 'admin' });
    expect(decide({ groups: 'staff' })).toMatchObject({ role: 'viewer' });
    expect(decide({ groups: ['Staff', 'staff '] })).toMatchObject({ reason: 'no-role' });
  });

  it('without a group has the default role, and is refused if there is none', () => {
    for (const groups of [[], undefined, 7, [7], { staff: true }, null]) {
      expect(decide({ groups })).toMatchObject({ reason: 'no-role' });
      expect(decide({ groups }, { defaultRole: 'member' })).toMatchObject({ role: 'member' });
    }
  });

  it('has groups in a nested claim, or in one whose name has dots', () => {
    const nested = { realm_access: { roles: ['staff'] } };
    expect(decide(nested, { groupsClaim: 'realm_access.roles' })).toMatchObject({ role: 'viewer' });
    const url = 'https://acme.example/groups';
    expect(decide({ [url]: ['admins'] }, { groupsClaim: url })).toMatchObject({ role: 'admin' });
    expect(decide({}, { groupsClaim: 'constructor.name' })).toMatchObject({ reason: 'no-role' });
  });

  it('is refused if its provider keeps the groups elsewhere, also with a default role', () => {
    const claims = { _claim_names: { groups: 'src1' } };
    expect(decide(claims, { defaultRole: 'viewer' })).toMatchObject({ reason: 'groups-not-sent' });
  });

  it('has an e-mail address only if the provider says that it is verified', () => {
    const email = 'ada@acme.test';
    const groups = ['staff'];
    expect(decide({ email, groups, email_verified: true })).toMatchObject({ email });
    for (const email_verified of [false, undefined, null, 0, 'no', {}])
      expect(decide({ email, groups, email_verified })).toMatchObject({ email: null });
    expect(decide({ email, groups, xms_edov: '1' }, { emailVerifiedClaim: 'xms_edov' })).toMatchObject({ email });
    for (const wrong of ['ada', 'a b@acme.test', 'ada@acme.test\n', `${'a'.repeat(400)}@acme.test`, 7])
      expect(decide({ email: wrong, groups, email_verified: true })).toMatchObject({ email: null });
  });

  it('needs a verified address of a given domain if there are any', () => {
    const changes = { emailDomains: ['acme.test'] };
    const claims = { groups: ['staff'], email_verified: true };
    expect(decide({ ...claims, email: 'Ada@ACME.test' }, changes)).toMatchObject({ role: 'viewer' });
    for (const email of ['ada@evil.test', 'ada@acme.test.evil.test', 'ada@sub.acme.test', 'acme.test@evil.test'])
      expect(decide({ ...claims, email }, changes)).toMatchObject({ reason: 'email-domain' });
    expect(decide({ groups: ['staff'], email: 'ada@acme.test' }, changes)).toMatchObject({
      reason: 'email-unverified',
    });
  });

  it('has the team of its first group; none leaves a team only if groups stand for teams', () => {
    const teams = [{ group: 'core', team: 'Core' }];
    expect(decide({ groups: ['staff', 'core'] }, { teams })).toMatchObject({ team: 'Core' });
    expect(decide({ groups: ['staff'] }, { teams })).toMatchObject({ team: null });
    expect(decide({ groups: ['staff'] })).toMatchObject({ team: undefined });
  });
});
