import { PEOPLE, PLANS, TEAMS } from '@recount/core/demo';
import {
  createBudget,
  createPerson,
  createTeam,
  type Database,
  type NewBudget,
  type PeopleScope,
  replacePlans,
} from '@recount/db';

/** Adds the people, teams, plans and the budget of the demo to its workspace, which has none of them. */
export async function addDemoTeams(transaction: Database, scope: PeopleScope, budget: NewBudget): Promise<void> {
  for (const { name, costCentre } of TEAMS) await createTeam(transaction, scope, { name, costCentre });
  for (const { name: email, displayName, team } of PEOPLE) {
    const leads = TEAMS.filter(({ lead }) => lead === displayName).map(({ name }) => name);
    await createPerson(transaction, scope, { displayName, email, team, teamFrom: null, leads });
  }
  await replacePlans(
    transaction,
    scope,
    PLANS.map((plan) => ({ ...plan })),
  );
  await createBudget(transaction, scope.workspaceId, budget, scope.actor);
}
