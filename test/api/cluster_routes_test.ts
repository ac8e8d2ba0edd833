import assert from "node:assert/strict";
import { Fault, type JsonObject } from "../../src/domain/mod.ts";
import { apiUnderTest, LOOPBACK, SELF } from "./api_under_test.ts";

const BASE = "http://127.0.0.1:11411";

function send(
  method: string,
  path: string,
  body?: string,
  type = "application/json",
): Request {
  return new Request(`${BASE}${path}`, {
    method,
    ...(body === undefined ? {} : { body, headers: { "content-type": type } }),
  });
}

Deno.test("the cluster's routes hand over what is asked, by action and name", async () => {
  const asked: [string, JsonObject][] = [];
  const { api } = apiUnderTest({
    act(action, body) {
      asked.push([action, body]);
      return Promise.resolve({ done: action });
    },
  });
  const table: readonly [Request, string, JsonObject][] = [
    [send("POST", "/cluster/invites", '{"code":true}'), "invite", {
      code: true,
    }],
    [send("POST", "/cluster/join", '{"token":"t"}'), "join", { token: "t" }],
    [send("POST", "/cluster/leave", "{}"), "leave", {}],
    [send("POST", "/cluster/door", '{"state":"open"}'), "door", {
      state: "open",
    }],
    [send("DELETE", "/cluster/members/K%C3%BCche%201"), "remove", {
      member: "Küche 1",
    }],
    [
      send("DELETE", `/cluster/members/${SELF}`, '{"expel":true,"member":"x"}'),
      "remove",
      { expel: true, member: SELF },
    ],
    [send("GET", "/cluster/doctor"), "doctor", {}],
    [send("GET", "/cluster/audit"), "audit", {}],
    [
      send("POST", "/cluster/copies", '{"model":"m","to":["b"]}'),
      "copy",
      { model: "m", to: ["b"] },
    ],
    [send("GET", "/cluster/copies"), "copies", {}],
    [send("DELETE", "/cluster/copies/c1"), "cancel_copy", { id: "c1" }],
  ];
  for (const [request, action, body] of table) {
    const response = await api.handle(request, LOOPBACK);
    assert.equal(response.status, 200, action);
    assert.deepEqual(await response.json(), { done: action });
    assert.deepEqual(asked.at(-1), [action, body]);
  }
});

Deno.test("the cluster's routes change nothing by GET, by a form, or for who may only read", async () => {
  let acted = 0;
  const { api } = apiUnderTest({
    act: () => {
      acted++;
      return Promise.resolve({});
    },
  });
  const remote = { remoteHost: "192.0.2.9", localHost: "192.0.2.1" };
  const table: readonly [Request, typeof LOOPBACK, number][] = [
    [send("GET", "/cluster/leave"), LOOPBACK, 405],
    [send("GET", "/cluster/invites"), LOOPBACK, 405],
    [send("POST", "/cluster/leave"), LOOPBACK, 415],
    [send("POST", "/cluster/leave", "{}", "text/plain"), LOOPBACK, 415],
    [
      send(
        "POST",
        "/cluster/leave",
        "a=1",
        "application/x-www-form-urlencoded",
      ),
      LOOPBACK,
      415,
    ],
    [send("POST", "/cluster/leave", "[]"), LOOPBACK, 400],
    [send("POST", "/cluster/join", "x".repeat(70_000)), LOOPBACK, 413],
    [send("POST", "/cluster/leave", "{}"), remote, 401],
  ];
  for (const [request, from, status] of table) {
    const response = await api.handle(request, from);
    assert.equal(response.status, status, `${request.method} ${request.url}`);
  }
  assert.equal(acted, 0);
});

Deno.test("the cluster's routes pass a fault on as it is", async () => {
  const { api } = apiUnderTest({
    act: () => Promise.reject(new Fault("not_implemented", "No cluster code")),
  });
  const response = await api.handle(
    send("POST", "/cluster/invites", "{}"),
    LOOPBACK,
  );
  assert.equal(response.status, 501);
  assert.equal((await response.json()).error.message, "No cluster code");
});
