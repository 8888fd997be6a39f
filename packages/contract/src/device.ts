import { z } from 'zod';
import { DEVICE_SCOPES, needsPerson } from './access.ts';
import { machineParameter, personParameter, text } from './fields.ts';

const MAX_CODE_LENGTH = 128;
const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

const deviceScopes = z.enum(DEVICE_SCOPES);

export const deviceCodeRequestSchema = z
  .strictObject({
    client_id: text(MAX_CODE_LENGTH).optional().describe('As OAuth clients send it; ignored'),
    scope: z
      .string()
      .regex(/^(?:ingest|read|ingest read|read ingest)$/)
      .default('ingest')
      .describe('Requested scopes: `ingest`, `read`, or both with a space between them'),
    machine: machineParameter.describe('Name of the machine, which becomes the name of the key'),
  })
  .meta({ id: 'DeviceCodeRequest', description: 'A machine that asks for a key; form fields, as RFC 8628 has them' });

export const deviceCodeSchema = z
  .object({
    device_code: z.string().describe('Secret of the machine, which fetches its key with it'),
    user_code: z.string().describe('What an admin approves, such as `WDJB-MJHT`'),
    verification_uri: z.string().describe('Where an admin types it, in the dashboard'),
    expires_in: z.int().describe('Seconds until both codes end'),
    interval: z.int().describe('Seconds to wait between two questions for the key'),
  })
  .meta({ id: 'DeviceCode', description: 'Codes of a machine that asks for a key' });

export type DeviceCode = z.infer<typeof deviceCodeSchema>;

export const deviceTokenRequestSchema = z
  .strictObject({
    grant_type: z.literal(DEVICE_GRANT_TYPE),
    device_code: text(MAX_CODE_LENGTH).describe('As it was shown to the machine'),
    client_id: text(MAX_CODE_LENGTH).optional().describe('As OAuth clients send it; ignored'),
  })
  .meta({ id: 'DeviceTokenRequest', description: 'A machine that asks whether it has a key; form fields' });

export const deviceTokenSchema = z
  .object({
    access_token: z.string().describe('The API key, shown only once'),
    token_type: z.literal('Bearer'),
    scope: z.string().describe('What the key may do, with spaces between'),
  })
  .meta({ id: 'DeviceToken', description: 'The key of a machine' });

export type DeviceToken = z.infer<typeof deviceTokenSchema>;

export const deviceRefusalSchema = z
  .object({
    error: z.enum(['authorization_pending', 'slow_down', 'expired_token', 'access_denied']).describe('As in RFC 8628'),
  })
  .meta({ id: 'DeviceRefusal', description: 'Why there is no key yet, or will be none' });

export type DeviceRefusal = z.infer<typeof deviceRefusalSchema>;

export const deviceApprovalSchema = z
  .strictObject({
    user_code: text(MAX_CODE_LENGTH).describe('As the machine shows it; case, hyphens and spaces do not matter'),
    scopes: z
      .array(deviceScopes)
      .min(1)
      .max(DEVICE_SCOPES.length)
      .optional()
      .describe('By default, the scopes that the machine asked for'),
    person: personParameter.optional().describe('Owner of the machine. Its uploads are attributed to them'),
  })
  .refine(({ scopes, person }) => !needsPerson(scopes ?? []) || person !== undefined, {
    path: ['person'],
    message: 'The scope own needs a person, whose sessions it means',
  })
  .meta({ id: 'DeviceApproval', description: 'A machine that may have a key of the workspace' });

const MACHINE_ID_PATTERN = /^[0-9a-f]{64}$/;

export const enrolmentRequestSchema = z
  .strictObject({
    machine: machineParameter.describe('Name of the machine, which becomes the name of the key'),
    machine_id: z
      .string()
      .regex(MACHINE_ID_PATTERN)
      .describe('SHA-256, hex, of what tells the machine from others; it enrols again under the same one'),
    person: personParameter.optional().describe('Owner of the machine. Its uploads are attributed to them'),
  })
  .meta({ id: 'EnrolmentRequest', description: 'A machine that exchanges an enrolment key for its own' });

export type EnrolmentRequest = z.input<typeof enrolmentRequestSchema>;

export const approvedDeviceSchema = z
  .object({ machine: z.string(), scopes: z.array(deviceScopes) })
  .meta({ id: 'ApprovedDevice', description: 'The machine that now fetches its key' });

export type ApprovedDevice = z.infer<typeof approvedDeviceSchema>;
