import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type CallForm,
  DEFAULT_FORM,
  findCallForm,
} from "../../src/engines/embedded/host/call_form.ts";
import { ChatTemplate } from "../../src/engines/embedded/host/chat_template.ts";
import {
  type CallPart,
  CallReader,
} from "../../src/engines/embedded/host/tool_calls.ts";

const TURN = "{{ '<|' + message.role + '|>' + message.content + '<|end|>' }}";

/** A template that lists tools and writes calls in a way of its own. */
function templateOf(call: string, before = "", after = "", glue = ""): string {
  return [
    "{%- if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}",
    "{%- for message in messages %}",
    "{%- if message.tool_calls %}{{ '<|assistant|>' }}",
    before,
    `{%- for call in message.tool_calls %}${call}`,
    `{%- if not loop.last %}{{ ${glue === "" ? "''" : glue} }}{% endif %}`,
    "{%- endfor %}",
    `${after}{{ '<|end|>' }}{% else %}${TURN}{% endif %}`,
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
  ].join("");
}

function formOf(source: string): CallForm {
  const template = new ChatTemplate(source, "<s>", "</s>");
  return findCallForm(
    (messages, options) => template.render(messages, options),
    ["</s>"],
  );
}

Deno.test("findCallForm reads the form off templates that write calls differently", () => {
  const bare = formOf(templateOf(
    `{{- '{"name": "' + call.function.name + '", "parameters": ' }}{{ call.function.arguments | tojson }}{{ '}' }}`,
    "",
    "",
    "'; '",
  ));
  assert.equal(bare.open, '{"name": "');
  assert.equal(bare.middle, '", "parameters": ');
  assert.equal(bare.close, "}");
  assert.equal(bare.between, '}; {"name": "');
  assert.ok(bare.anchored);
  const listed = formOf(templateOf(
    `{{- '{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}{{ '}' }}`,
    "{{- '[CALLS][' }}",
    "{{- ']' }}",
    "', '",
  ));
  assert.equal(listed.marker, "[CALLS]");
  assert.equal(listed.open, '[CALLS][{"name": "');
  assert.equal(listed.close, "}]");
  assert.equal(listed.between, '}, {"name": "');
  assert.ok(!listed.anchored);
});

Deno.test("findCallForm falls back to its own form when the template has none", () => {
  const plain = `{%- for message in messages %}${TURN}{% endfor %}`;
  assert.equal(formOf(plain), DEFAULT_FORM);
  const refusing = "{{- raise_exception('no') }}";
  assert.equal(formOf(refusing), DEFAULT_FORM);
  const otherwise = templateOf("{{- '<call ' + call.function.name + '>' }}");
  assert.equal(formOf(otherwise), DEFAULT_FORM);
});

Deno.test("ChatTemplate refuses with the template's own reason", () => {
  const template = new ChatTemplate(
    "{{- raise_exception('Roles must alternate') }}",
    "",
    "",
  );
  assert.throws(
    () =>
      template.render([], {
        tools: [],
        addGenerationPrompt: true,
        variables: {},
      }),
    { name: "RequestError", status: 400, message: /Roles must alternate/ },
  );
});

/** What a reader made of a text that came in pieces. */
function read(
  text: string,
  cuts: readonly number[],
  form: CallForm = DEFAULT_FORM,
) {
  const reader = new CallReader(form, ["get", "get_more"]);
  const parts: CallPart[] = [];
  let from = 0;
  for (const to of [...cuts].sort((a, b) => a - b)) {
    parts.push(...reader.push(text.slice(from, to)));
    from = to;
  }
  parts.push(...reader.push(text.slice(from)), ...reader.flush());
  const calls: { name: string; arguments: string }[] = [];
  let content = "";
  for (const part of parts) {
    if (part.kind === "content") content += part.text;
    if (part.kind === "begin") calls.push({ name: part.name, arguments: "" });
    const last = calls.at(-1);
    if (part.kind === "arguments" && last) last.arguments += part.text;
  }
  return { content, calls, calling: reader.calling };
}

const call = (name: string, args: string) =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;

Deno.test("CallReader finds calls and content wherever the text is cut", () => {
  const tricky = '{"text": "a } \\" <tool_call> {", "list": [{}, {"x": 1}]}';
  const text = `I will look. \n${call("get_more", tricky)}\n${
    call("get", "{}")
  }`;
  fc.assert(fc.property(
    fc.array(fc.nat({ max: text.length }), { maxLength: 30 }),
    (cuts) => {
      assert.deepEqual(read(text, cuts), {
        content: "I will look.",
        calls: [
          { name: "get_more", arguments: tricky },
          { name: "get", arguments: "{}" },
        ],
        calling: true,
      });
    },
  ));
});

Deno.test("CallReader shows as content what turns out to be no call", () => {
  const form = { ...DEFAULT_FORM };
  for (
    const text of [
      "plain text < and <tool and more",
      "a <tool_call> b",
      call("unknown", "{}"),
      "spaces at the end  \n",
      "<tool_call>",
    ]
  ) {
    fc.assert(fc.property(
      fc.array(fc.nat({ max: text.length }), { maxLength: 10 }),
      (cuts) => {
        assert.deepEqual(read(text, cuts, form), {
          content: text,
          calls: [],
          calling: false,
        });
      },
    ));
  }
});

Deno.test("CallReader takes plain JSON for a call at the very beginning only", () => {
  const form: CallForm = {
    open: '{"name": "',
    middle: '", "parameters": ',
    between: '}; {"name": "',
    close: "}",
    marker: '{"name": "',
    anchored: true,
  };
  const text = '{"name": "get", "parameters": {"a": 1}}';
  assert.deepEqual(read(text, [3, 9], form).calls, [
    { name: "get", arguments: '{"a": 1}' },
  ]);
  const quoted = `Write ${text}`;
  assert.deepEqual(read(quoted, [3, 9], form), {
    content: quoted,
    calls: [],
    calling: false,
  });
});
