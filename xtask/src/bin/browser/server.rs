//! A static host: the files of one folder over HTTP, with no header but what each such host sends. Of a packed file, hosts say
//! that the answer is packed, or say nothing; so does this one, in turn.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

/// Whether the next packed file is said to be packed.
static SAYS_PACKED: AtomicBool = AtomicBool::new(false);

/// Serves until the program ends.
pub struct Server {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<(String, u64)>>>,
}

impl Server {
    pub fn start(folder: &Path) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port is free for the book's pages")?;
        let (address, sent) = (listener.local_addr()?, Arc::new(Mutex::new(Vec::new())));
        let (folder, log) = (folder.to_path_buf(), sent.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, log) = (folder.clone(), log.clone());
                // A browser opens connections that it may never use: each waits by itself. One that breaks off is its own affair.
                thread::spawn(move || answer(&stream, &folder, &log));
            }
        });
        Ok(Self { address, sent })
    }

    pub fn url(&self, page: &str) -> String {
        format!("http://{}/{page}", self.address)
    }

    /// The files that were sent since the last call, with their bytes.
    pub fn sent(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn answer(mut stream: &TcpStream, folder: &Path, log: &Mutex<Vec<(String, u64)>>) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|header| !header.is_empty()) {}
    let found = file(folder, &request).and_then(|file| Some((fs::read(&file).ok()?, file)));
    let Some((bytes, file)) = found else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let (kind, length) = (kind(&file), bytes.len());
    // Who asks for the head alone gets no byte, and nothing is noted.
    let is_asked = request.starts_with("HEAD ");
    let is_packed = !is_asked && file.extension().is_some_and(|name| name == "gz");
    let encoding = match is_packed && SAYS_PACKED.fetch_not(Ordering::Relaxed) {
        true => "Content-Encoding: gzip\r\n",
        false => "",
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{encoding}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    if is_asked {
        return stream.write_all(head.as_bytes());
    }
    // Noted before the last byte goes: who has all of it finds it noted.
    let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().into_owned();
    log.lock().unwrap_or_else(PoisonError::into_inner).push((name, length as u64));
    stream.write_all(head.as_bytes())?;
    stream.write_all(&bytes)
}

/// The file that `GET /path?query HTTP/1.1` names, or `HEAD`, if it lies in the folder.
fn file(folder: &Path, request: &str) -> Option<PathBuf> {
    let path = request.strip_prefix("GET /").or_else(|| request.strip_prefix("HEAD /"))?;
    let path = path.split([' ', '?', '#']).next()?;
    let path = Path::new(path);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let file = folder.join(path);
    (is_inside && file.is_file()).then_some(file)
}

fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|name| name.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "gz" => "application/gzip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_lies_in_the_folder_is_sent_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("xtask-server-{}", std::process::id()));
        fs::create_dir_all(folder.join("in")).unwrap();
        fs::write(folder.join("in/a.mjs"), "text").unwrap();
        fs::write(folder.join("in/a.gz"), "packed").unwrap();
        fs::write(folder.join("secret"), "secret").unwrap();
        let server = Server::start(&folder.join("in")).unwrap();
        let get = |line: &str| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(format!("{line} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        for line in ["GET /a.mjs", "GET /a.mjs?query"] {
            let text = get(line);
            assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/javascript"), "{text}");
            assert!(text.ends_with("\r\n\r\ntext"), "{text}");
        }
        let head = get("HEAD /a.mjs");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        for line in ["HEAD /b", "GET /b", "GET /", "GET /../secret", "GET //etc/passwd", "POST /a.mjs", ""] {
            assert!(get(line).starts_with("HTTP/1.1 404 "), "{line}");
        }
        assert_eq!(server.sent(), vec![("a.mjs".to_string(), 4); 2]);
        assert!(server.sent().is_empty());
        let says = [(); 4].map(|()| get("GET /a.gz").contains("\r\nContent-Encoding: gzip\r\n"));
        assert_eq!(says, [false, true, false, true]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
