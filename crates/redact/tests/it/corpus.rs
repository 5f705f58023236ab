//! What must be marked, and what must not.

use super::*;

/// Kind and token of every format that is known by itself.
fn tokens() -> Vec<(&'static str, String)> {
    let alnum = |length| noise(ALNUM, length, 3);
    let hex = |length| noise(HEX, length, 5);
    let url = |length: usize| noise(BASE64URL, length - 1, 9) + "x";
    let jwt = ["eyJ", "hbGciOiJIUzI1NiJ9.eyJ", "zdWIiOiJkZXYifQ.", &url(43)].concat();
    vec![
        ("aws-access-token", ["AK", "IA", &noise(UPPER, 16, 1)].concat()),
        ("aws-access-token", ["AS", "IA", &noise(UPPER, 16, 2)].concat()),
        ("gcp-api-key", ["AI", "za", &url(35)].concat()),
        ("gcp-oauth-token", ["ya", "29.", &url(60)].concat()),
        ("gcp-oauth-client-secret", ["GOC", "SPX-", &url(28)].concat()),
        ("digitalocean-token", ["dop", "_v1_", &hex(64)].concat()),
        ("vault-token", ["hv", "s.", &alnum(24)].concat()),
        ("github-pat", ["gh", "p_", &alnum(36)].concat()),
        ("github-oauth", ["gh", "o_", &alnum(36)].concat()),
        ("github-app-token", ["gh", "s_", &alnum(36)].concat()),
        ("github-refresh-token", ["gh", "r_", &alnum(36)].concat()),
        ("github-fine-grained-pat", ["github", "_pat_", &alnum(22), "_", &alnum(59)].concat()),
        ("gitlab-pat", ["gl", "pat-", &alnum(20)].concat()),
        ("anthropic-api-key", ["sk-", "ant-", "api03-", &url(93), "AA"].concat()),
        ("anthropic-api-key", ["sk-", "ant-", "oat01-", &url(93), "AA"].concat()),
        ("openai-api-key", ["sk-", "proj-", &url(48)].concat()),
        ("openai-api-key", ["sk", "-", &alnum(48)].concat()),
        ("openrouter-api-key", ["sk-", "or-v1-", &hex(64)].concat()),
        ("huggingface-access-token", ["hf", "_", &alnum(34)].concat()),
        ("groq-api-key", ["gs", "k_", &alnum(52)].concat()),
        ("slack-token", ["xo", "xb-", "123456789012-123456789012-", &alnum(24)].concat()),
        ("slack-token", ["xo", "xp-", "1234567890-", &alnum(24)].concat()),
        ("slack-app-token", ["xa", "pp-1-A", &noise(UPPER, 10, 1), "-1234567890-", &hex(64)].concat()),
        ("slack-webhook-url", ["hooks.slack", ".com/services/T00000000/B00000000/", &alnum(24)].concat()),
        ("discord-webhook-url", ["discord", ".com/api/webhooks/123456789012345678/", &url(68)].concat()),
        ("npm-access-token", ["np", "m_", &alnum(36)].concat()),
        ("pypi-upload-token", ["py", "pi-", "AgEIcHlwaS5vcmc", &url(70)].concat()),
        ("crates-io-token", ["ci", "o", &alnum(32)].concat()),
        ("stripe-access-token", ["sk", "_live_", &alnum(24)].concat()),
        ("stripe-access-token", ["rk", "_test_", &alnum(24)].concat()),
        ("stripe-webhook-secret", ["wh", "sec_", &alnum(32)].concat()),
        ("sendgrid-api-token", ["S", "G.", &url(22), ".", &url(43)].concat()),
        ("jwt", jwt),
    ]
}

fn assert_marked(text: &str, kind: &str, secret: &str) {
    let redactor = redactor();
    let marked = redactor.text(text);
    assert!(!marked.contains(secret), "{kind}: {secret} stands in {marked}");
    assert!(marked.contains(&format!("[redacted:{kind}:")), "{kind} is not named in {marked}");
    assert_eq!(redactor.text(&marked), marked, "a marked text has nothing left to mark");

    // The same inside JSON, once and twice encoded.
    let once = serde_json::json!({ "tool_input": { "command": text } }).to_string();
    let twice = serde_json::json!({ "tool_output": once }).to_string();
    for json in [once, twice] {
        let marked = redactor.json(&json).into_owned();
        assert!(!marked.contains(secret), "{kind}: {secret} stands in {marked}");
        assert!(marked.contains(&format!("[redacted:{kind}:")), "{kind} is not named in {marked}");
        let parsed = serde_json::from_str::<serde_json::Value>(&marked);
        assert!(parsed.is_ok(), "{marked}");
        assert_eq!(redactor.json(&marked), marked);
    }
}

#[test]
fn tokens_are_marked_wherever_they_stand() {
    for (kind, token) in tokens() {
        for (before, after) in [
            ("", ""),
            ("export X=", "\necho done"),
            ("use ", ", please"),
            ("(\"", "\")"),
            ("a line\n", "\nanother"),
            ("https://example.com/?x=", "&y=1"),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("x%3D", " "),
            ("one\\n", "\\ntwo"),
        ] {
            assert_marked(&format!("{before}{token}{after}"), kind, &token);
        }
    }
}

#[test]
fn equal_secrets_look_equal_and_different_keys_mark_differently() {
    let (_, token) = tokens().swap_remove(7);
    let text = format!("{token} and {token}");
    let marked = redactor().text(&text).into_owned();
    let (first, second) = marked.split_once(" and ").unwrap();
    assert_eq!(first, second);
    assert_eq!(first.len(), "[redacted:github-pat:01234567]".len());
    assert_ne!(Redactor::new(&[8; 32]).text(&text), marked);
    // HMAC-SHA256 with key 07 07 …, by an independent implementation (Python's hmac): the head of the digest.
    let url = format!("postgres://app:{}@db.example.com/x", "hunter2");
    assert_eq!(redactor().text(&url), "postgres://app:[redacted:url-password:326eb4f6]@db.example.com/x");
}

#[test]
fn values_are_marked_by_the_words_around_them() {
    let hunter = ["hun", "ter2"].concat();
    let key = noise(ALNUM, 40, 11);
    let short = noise(ALNUM, 12, 13) + "7";
    for (text, kind, secret) in [
        // URLs: user and host stay.
        (format!("git clone https://dev:{hunter}@git.example.com/x.git"), "url-password", &hunter),
        (format!("DATABASE_URL=postgres://app:{hunter}@db:5432/app"), "url-password", &hunter),
        (format!("redis://:{key}@cache.example.com"), "url-password", &key),
        // Headers, in commands, code and nested JSON.
        (format!("curl -H 'Authorization: Bearer {key}' https://api.example.com"), "authorization", &key),
        (format!("curl -H \"authorization: token {short}\" x"), "authorization", &short),
        (format!("Authorization: Basic {short}=="), "authorization", &short),
        (format!("{{\"headers\":{{\"Authorization\":\"Bearer {short}\"}}}}"), "authorization", &short),
        (format!("headers = {{'Authorization': 'Bearer {short}'}}"), "authorization", &short),
        (format!("Proxy-Authorization: {key}"), "authorization", &key),
        (format!("it answered to Bearer {key} as well"), "authorization", &key),
        (format!("x-api-key: {key}"), "api-key", &key),
        (format!("curl -sS -u dev:{hunter} https://example.com"), "password", &hunter),
        // Environment and shell.
        (format!("AWS_SECRET_ACCESS_KEY={key}"), "api-key", &key),
        (format!("export DB_PASSWORD='{hunter}'"), "password", &hunter),
        (format!("PGPASSWORD={hunter} psql"), "password", &hunter),
        (format!("DB_PASS={hunter}"), "password", &hunter),
        (format!("A=1\nMY_API_TOKEN={short}\nB=2"), "token", &short),
        (format!("CLIENT_SECRET=\"{short}\""), "secret", &short),
        (format!("deploy --token {key}"), "token", &key),
        (format!("deploy --password={hunter}"), "password", &hunter),
        (format!("https://example.com/cb?access_token={short}&x=1"), "token", &short),
        // Configuration and code.
        (format!("password: {hunter}"), "password", &hunter),
        (format!("password = \"{hunter}\""), "password", &hunter),
        (format!("{{\"password\": \"{hunter}\"}}"), "password", &hunter),
        (format!("{{\\\"api_key\\\": \\\"{short}\\\"}}"), "api-key", &short),
        (format!("const apiKey = '{short}';"), "api-key", &short),
        (format!("client_secret: {key}"), "secret", &key),
        (format!("login(user, password='{hunter}')"), "password", &hunter),
    ] {
        assert_marked(&text, kind, secret);
    }
}

#[test]
fn a_url_keeps_user_and_host_and_a_header_its_scheme() {
    let hunter = ["hun", "ter2"].concat();
    let redactor = redactor();
    let url = format!("https://dev:{hunter}@git.example.com/x.git");
    let marked = redactor.text(&url);
    assert!(
        marked.starts_with("https://dev:[redacted:url-password:")
            && marked.ends_with("]@git.example.com/x.git")
    );
    let header = format!("Authorization: Bearer {hunter}");
    assert!(redactor.text(&header).starts_with("Authorization: Bearer [redacted:authorization:"));
}

#[test]
fn ordinary_text_is_left_alone() {
    let texts = [
        // Ids of every kind.
        noise(HEX, 40, 21),
        noise(HEX, 64, 22),
        "5e55a001-0000-4000-8000-000000000001".into(),
        "01K7Q3M2ZB6S0T9V4X8YCDEFGH".into(),
        format!("toolu_{}", noise(ALNUM, 24, 23)),
        format!("call_{}", noise(ALNUM, 24, 24)),
        format!("exec-{}", noise(HEX, 32, 25)),
        format!("req_{} msg_{}", noise(ALNUM, 24, 26), noise(ALNUM, 24, 27)),
        format!("commit {}\nindex {}..{} 100644", noise(HEX, 40, 28), noise(HEX, 7, 29), noise(HEX, 7, 30)),
        format!("sha256:{}", noise(HEX, 64, 31)),
        format!("sha512-{}==", noise(BASE64, 86, 32)),
        // Paths, packages, versions.
        "/home/dev/.claude/projects/-srv-demo-app/5e55a001-0000-4000-8000-000000000001.jsonl".into(),
        "/home/dev/task-management/disk-usage/sk-learn-examples/src/secret/token.rs".into(),
        "C:\\Users\\Dev One\\AppData\\npm_cache\\password.txt".into(),
        "npm_config_registry=https://registry.npmjs.org/ pypi-attestations hf_transfer gsk_ AKIA sk-".into(),
        "https://example.com:8080/a@b?x=1 ssh://git@example.com:22/x git@example.com:dev/x.git http://[::1]:4000/".into(),
        // Talk about secrets.
        "The password is checked, then a token: see secret.md for details. Authorization: required. Bearer tokens expire.".into(),
        "Enter your password: ".into(),
        "use --token to pass a token and --password is optional".into(),
        // Blanks and variables.
        "curl -H \"Authorization: Bearer $TOKEN\" -H 'x-api-key: ${API_KEY}' https://user:$PASS@example.com".into(),
        "Authorization: Bearer <token>".into(),
        "API_KEY=YOUR_API_KEY PASSWORD=*** TOKEN= SECRET=\"\" password=${{ secrets.PW }}".into(),
        "curl -u \"$USER:$PASS\" https://example.com".into(),
        // Code.
        "let token = parse(&input)?; let password = config.password.clone(); if token == other {}".into(),
        "interface Login { password: string; token: string; secret?: Uint8Array }".into(),
        "struct Login { password: String, token: Option<String>, api_key: &'static str }".into(),
        "login(user, password=password, token=self.token, secret=settings.SECRET_KEY)".into(),
        "token: Token::new(), secret_key: env::var(\"SECRET_KEY\"), password => hash(password)".into(),
        "fn login(password: *const u16) {} pub const ERROR_PASSWORD: WIN32_ERROR = 86u32; Authorization: WS_SECURITY_ID2,".into(),
        "max_tokens=4096 input_tokens: 123456 \"cache_read_input_tokens\": 123456789 tokens=99".into(),
        "pad_token='<pad>' eos_token=\"<|endoftext|>\" next_page_token=abcdefgh12345678".into(),
        "PWD=/srv/demo/app OLDPWD=/srv/demo bypass: 12345678 compass=north1234".into(),
        "TOKEN_FILE=/run/secrets/token password_file: /etc/app/password1.txt secret=/run/secrets/app".into(),
        // Pictures.
        format!("data:image/png;base64,{}", noise(BASE64, 20_000, 33)),
        noise(BASE64URL, 20_000, 34),
        // A public key, and a certificate.
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", noise(BASE64, 64, 35)),
        format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{} dev@example.com", noise(BASE64, 48, 36)),
    ];
    let redactor = redactor();
    for text in &texts {
        assert_eq!(redactor.text(text), *text);
        let json = serde_json::json!({ "tool_input": { "command": text } }).to_string();
        assert_eq!(redactor.json(&json), json);
    }
}

#[test]
fn private_keys_are_marked_whole() {
    let (begin, end) = (["-----BEGIN RSA", "PRIVATE KEY-----"].join(" "), "-----END RSA PRIVATE KEY-----");
    let body = noise(BASE64, 64, 41);
    let key = format!("{begin}\n{body}\n{body}\n{}==\n{end}", &body[..30]);
    let redactor = redactor();
    let marked = redactor.text(&key).into_owned();
    assert!(marked.starts_with("[redacted:private-key:") && marked.len() < 40, "{marked}");
    assert_marked(&format!("cat id_rsa\n{key}\n$"), "private-key", &body);
    let json = serde_json::json!({ "private_key": key, "private_key_id": noise(HEX, 40, 42) }).to_string();
    let marked = redactor.json(&json);
    assert!(marked.contains("[redacted:private-key:") && marked.contains(&noise(HEX, 40, 42)), "{marked}");
}
